"""Scenarios: read, run, refused."""

import ast
import os
import pathlib
import pickle
import signal
import threading
import time

import pytest

import anabranch
from anabranch import Scenario, ScenarioError


def test_a_file_is_run_with_each_seed(tmp_path, two_paths):
    path = tmp_path / "two-paths.toml"
    path.write_text(two_paths.text)
    scenario = Scenario.load(path, {"duration": "1s"})
    results = scenario.run(seeds=range(4))
    assert results.seeds == [0, 1, 2, 3]
    flows = results.flows.to_polars()
    assert flows["seed"].to_list() == [0, 1, 2, 3]
    assert flows["goodput_bps"].min() > 10e6
    links = results.links.to_polars()
    assert links["link"].to_list()[:4] == ["wifi", "wifi back", "mobile", "mobile back"]


def test_a_seed_gives_the_same_for_any_number_of_threads(two_paths):
    one, many = (two_paths.run(range(4), jobs=jobs, packets=True) for jobs in (1, 3))
    assert one.flows.to_polars().equals(many.flows.to_polars())
    assert one.packets.to_polars().equals(many.packets.to_polars())


def test_an_example_asks_for_its_own_seeds_and_values_can_be_set():
    scenario = Scenario.example("two-paths", {"duration": "500ms", "seeds": 2})
    assert scenario.seeds == [1, 2]
    assert scenario.duration_s == 0.5
    slower = scenario.set({"wifi.rate": "1M", "mobile.rate": "1M"})
    fast, slow = (it.run([1]).flows.to_polars()["goodput_bps"][0] for it in (scenario, slower))
    assert fast > 3 * slow


def test_what_makes_no_sense_is_said_with_its_line():
    with pytest.raises(ScenarioError, match=r"mine: line 4: .*rate"):
        Scenario.parse('duration = "1s"\n[[links]]\nname = "dsl"\nrate = "fast"\n', name="mine")
    with pytest.raises(ScenarioError, match="in what is set"):
        Scenario.example("dumbbell", {"bottleneck.loss": "much"})
    with pytest.raises(ScenarioError, match="there is no way from|no link leads to"):
        Scenario.example("two-paths", {"file.to": "moon"})
    with pytest.raises(ScenarioError, match="is no video"):
        Scenario.parse(
            'duration = "1s"\n[[links]]\nname = "a"\n'
            '[[flows]]\nname = "f"\nkind = "media"\nvideo = "cat.jpg"\n'
        )
    with pytest.raises(ValueError, match="give one of dumbbell"):
        Scenario.example("barbell")
    with pytest.raises(FileNotFoundError, match="nowhere.toml"):
        Scenario.load("nowhere.toml")
    with pytest.raises(TypeError, match="wifi.rate is a list"):
        Scenario.example("two-paths", {"wifi.rate": [1]})


def test_seeds_that_are_none_are_refused(one_path):
    for seeds in ([-1], [1.5], ["one"], [2**63], 3, []):
        with pytest.raises(ValueError, match=r"such as range\(30\)"):
            one_path.run(seeds)
    with pytest.raises(ValueError, match="jobs is 0"):
        one_path.run(jobs=0)


def test_a_run_that_never_ends_is_ended_by_its_limit(one_path):
    with pytest.raises(anabranch.RunError, match="it took 1000 events, its limit"):
        one_path.set({"steps_max": 1000}).run([1, 2])


def test_runs_hold_no_lock_of_pythons(one_path):
    counted, is_over = 0, threading.Event()

    def count():
        nonlocal counted
        while not is_over.is_set():
            counted += 1

    other = threading.Thread(target=count)
    other.start()
    try:
        before = counted
        one_path.set({"duration": "20s"}).run([1])
        assert counted > before + 1000
    finally:
        is_over.set()
        other.join()


@pytest.mark.parametrize("own", [False, True])
def test_ctrl_c_ends_runs(one_path, own):
    class Fixed(anabranch.Controller):
        def on_ack(self, ack):
            pass

    endless = one_path.set({"duration": "3600s", "dsl.rate": "100M"})
    killer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    killer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        endless.run(range(8), controllers={"file": Fixed} if own else None)
    assert killer.finished.is_set() and time.monotonic() > began


FILM = pathlib.Path(__file__).parents[2] / "media" / "tests" / "fixtures" / "h264_aac.mp4"


def test_a_film_is_found_beside_its_scenario_in_whatever_process(tmp_path, film, monkeypatch):
    (tmp_path / "film.mp4").write_bytes(FILM.read_bytes())
    path = tmp_path / "film.toml"
    path.write_text(film.text.replace('rate = "2M"', 'video = "file:film.mp4"'))
    scenario = pickle.dumps(Scenario.load(path))
    monkeypatch.chdir(tmp_path.parent)
    frames = pickle.loads(scenario).run([1], frames=True).frames.to_polars()
    assert {"key frame", "sound"} <= set(frames["class"])
    with pytest.raises(ScenarioError, match="video: film.mp4: No such file"):
        Scenario.parse(path.read_text())


def test_scenarios_and_results_go_to_other_processes(one_path):
    again = pickle.loads(pickle.dumps(one_path.set({"duration": "1s"})))
    assert again.duration_s == 1.0
    results = again.run([7], labels={"rate": "8M"})
    copied = pickle.loads(pickle.dumps(results)).flows.to_polars()
    assert copied.equals(results.flows.to_polars())
    assert copied.columns[:3] == ["rate", "seed", "flow"]
    with pytest.raises(TypeError, match="do not go to another process"):
        pickle.dumps(again.run([7], packets=True))


def test_results_are_printed_as_the_programs_tables(one_path):
    assert "goodput Mbit/s" in str(one_path.run([1]))


def test_the_stub_names_what_there_is():
    """Every class of the stub has the methods that the module has, and no other."""
    stub = pathlib.Path(anabranch.__file__).with_name("_native.pyi").read_text()
    for node in ast.parse(stub).body:
        if not isinstance(node, ast.ClassDef) or node.bases:
            continue
        cls = getattr(anabranch, node.name)
        told = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
        public = {name for name in vars(cls) if not name.startswith("_")}
        assert {name for name in told if not name.startswith("_")} == public, node.name
        assert all(hasattr(cls, name) for name in told)
