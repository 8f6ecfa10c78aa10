"""Sweeps: a scenario with all combinations of some values, on several processes."""

from __future__ import annotations

import itertools
import multiprocessing
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from typing import Any

from anabranch._native import Results, Scenario

__all__ = ["points", "sweep"]


def points(over: Mapping[str, Iterable[Any]]) -> list[dict[str, Any]]:
    """All combinations of values, the last key's changing fastest.

    >>> points({"wifi.loss": ["0", "1%"], "wifi.delay": ["10ms"]})
    [{'wifi.loss': '0', 'wifi.delay': '10ms'}, {'wifi.loss': '1%', 'wifi.delay': '10ms'}]
    """
    values = {key: list(values) for key, values in over.items()}
    for key, listed in values.items():
        if not listed:
            raise ValueError(f"{key} has no values: give at least one")
    return [dict(zip(values, each)) for each in itertools.product(*values.values())]


def sweep(
    scenario: Scenario,
    over: Mapping[str, Iterable[Any]],
    seeds: Iterable[int] | None = None,
    *,
    processes: int | None = None,
    executor: Executor | None = None,
    controllers: Mapping[str, Callable[..., Any]] | None = None,
    schedulers: Mapping[str, Callable[..., Any]] | None = None,
    sources: Mapping[str, Callable[..., Any]] | None = None,
) -> Results:
    """Runs a scenario at all combinations of values, a process for each core.

    ``over`` has keys as ``Scenario.set`` takes them, each with its values; the tables of the
    results have a column for each. ``processes`` is how many run at once; an ``executor`` of your
    own takes their place. The results are the same for any number of processes.

    Classes and functions of your own must be importable from a module: processes are spawned.
    On systems where that runs the main module again, call this below
    ``if __name__ == "__main__":``.
    """
    parts = {"controllers": controllers, "schedulers": schedulers, "sources": sources}
    own = {name: dict(part) for name, part in parts.items() if part}
    seeds = scenario.seeds if seeds is None else list(seeds)
    # What is wrong with a value is said before anything runs.
    each = [(scenario.set(point), point) for point in points(over)]
    runs = [(changed, seed, point, own) for changed, point in each for seed in seeds]
    if executor is not None:
        return Results.join(list(executor.map(run_one, *_columns(runs))))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, mp_context=context) as pool:
        return Results.join(list(pool.map(run_one, *_columns(runs))))


def run_one(
    scenario: Scenario, seed: int, point: Mapping[str, Any], own: Mapping[str, Any]
) -> Results:
    """One run of a sweep: what a process, or a cluster's task, does."""
    return scenario.run([seed], jobs=1, labels=dict(point), **own)


def _columns(runs: Sequence[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return list(zip(*runs))
