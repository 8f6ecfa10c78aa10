"""Sweeps on a cluster: ``pip install anabranch[ray]``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import ray

from anabranch._native import Results, Scenario
from anabranch.sweeping import points, run_one

__all__ = ["sweep"]


def sweep(
    scenario: Scenario,
    over: Mapping[str, Iterable[Any]],
    seeds: Iterable[int] | None = None,
    **own: Any,
) -> Results:
    """As ``anabranch.sweep``, with a task of Ray's for each run: one core, no state.

    Ray is started on this machine if ``ray.init`` was not called before. ``controllers``,
    ``schedulers`` and ``sources`` go along as Ray pickles them.
    """
    seeds = scenario.seeds if seeds is None else list(seeds)
    each = [(scenario.set(point), point) for point in points(over)]
    task = ray.remote(num_cpus=1)(run_one)
    runs = [task.remote(changed, seed, point, own) for changed, point in each for seed in seeds]
    return Results.join(ray.get(runs))
