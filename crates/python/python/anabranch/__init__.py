"""Networks and transports in virtual time, with the real stacks.

A scenario is hosts, links, events and flows in a file; a run of it with a seed gives the same
result to the last digit on every machine::

    import anabranch

    results = anabranch.Scenario.load("two-paths.toml").run(seeds=range(30))
    results.flows.to_polars()

Results are Arrow tables, which polars, pandas, DuckDB and others read without a copy. Congestion
controllers, path schedulers and sources that are written in Python run inside the simulator: see
:meth:`Scenario.run`, :class:`Controller` and :class:`PathScheduler`. Units are in the names:
``_s`` and ``_ms`` are seconds and milliseconds of the simulation, ``_bps`` bits per second;
sizes are in bytes.
"""

from anabranch._native import (
    Ack,
    CallbackError,
    Demand,
    FreshPath,
    LostChunk,
    Outlook,
    Results,
    RunError,
    Scenario,
    ScenarioError,
    SentData,
    Table,
    __version__,
)
from anabranch.own import Controller, PathScheduler
from anabranch.sweeping import points, sweep

__all__ = [
    "Ack",
    "CallbackError",
    "Controller",
    "Demand",
    "FreshPath",
    "LostChunk",
    "Outlook",
    "PathScheduler",
    "Results",
    "RunError",
    "Scenario",
    "ScenarioError",
    "SentData",
    "Table",
    "__version__",
    "points",
    "sweep",
]
