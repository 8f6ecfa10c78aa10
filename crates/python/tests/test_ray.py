"""Sweeps by Ray, on this machine alone."""

import pytest
import ray

import anabranch
import anabranch.ray


@pytest.fixture
def cluster():
    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def test_a_sweep_by_ray_gives_what_one_by_processes_does(cluster, one_path):
    class Small(anabranch.Controller):
        def on_ack(self, ack):
            self.window = 10_000

    over = {"dsl.rate": ["4M", "8M"]}
    by_ray = anabranch.ray.sweep(one_path, over, seeds=[1, 2])
    here = anabranch.sweep(one_path, over, seeds=[1, 2], processes=1)
    assert by_ray.flows.to_polars().equals(here.flows.to_polars())
    # A class of this function goes along.
    own = anabranch.ray.sweep(one_path, over, seeds=[1], controllers={"file": Small})
    assert own.flows.to_polars()["goodput_bps"].max() < 4e6
