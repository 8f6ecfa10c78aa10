"""What is written in Rust: scenarios, their runs, and the tables of what they gave."""

from collections.abc import Callable, Iterable
from os import PathLike
from typing import Any, final

import pandas
import polars

__all__ = [
    "Ack",
    "CallbackError",
    "Demand",
    "FreshPath",
    "LostChunk",
    "Outlook",
    "Results",
    "RunError",
    "Scenario",
    "ScenarioError",
    "SentData",
    "Table",
    "__version__",
    "cells",
]

__version__: str

class ScenarioError(ValueError):
    """A scenario makes no sense: says where, and what would be right."""

class RunError(RuntimeError):
    """A run came to no end: its limit of events was reached, or a stack misbehaved."""

class CallbackError(RunError):
    """A controller, a scheduler or a source raised, or returned what makes no sense.

    The exception that it raised is the ``__cause__``.
    """

@final
class Scenario:
    """Hosts, links, events and flows. docs/scenarios.md of the project has every key."""

    @classmethod
    def load(cls, path: str | PathLike[str], set: dict[str, Any] | None = None) -> Scenario:
        """Reads a scenario from a file in TOML.

        ``set`` gives keys other values than the file does, as ``{"wifi.loss": "1%"}``, or
        ``{"duration": "5s"}``. Raises ScenarioError, or OSError if the file cannot be read.
        Files that it names, films and recorded links, are looked for from its own folder.
        """

    @classmethod
    def parse(
        cls, text: str, set: dict[str, Any] | None = None, *, name: str = "scenario"
    ) -> Scenario:
        """Reads a scenario from text; messages call it ``name``.

        Files that it names are looked for from the working directory.
        """

    @classmethod
    def example(cls, name: str, set: dict[str, Any] | None = None) -> Scenario:
        """One to start from: ``dumbbell``, ``two-paths``, ``handoff``, ``cellular`` or ``dccp``."""

    @staticmethod
    def schema() -> str:
        """A JSON schema of scenarios, for editors."""

    def set(self, set: dict[str, Any]) -> Scenario:
        """The same, where these keys have other values."""

    @property
    def text(self) -> str:
        """The file."""

    @property
    def duration_s(self) -> float:
        """How long it runs, in seconds of the simulation."""

    @property
    def seeds(self) -> list[int]:
        """The seeds that it asks for."""

    def run(
        self,
        seeds: Iterable[int] | None = None,
        *,
        jobs: int | None = None,
        packets: bool = False,
        frames: bool = False,
        controllers: dict[str, Callable[..., Any]] | None = None,
        schedulers: dict[str, Callable[..., Any]] | None = None,
        sources: dict[str, Callable[..., Any]] | None = None,
        labels: dict[str, Any] | None = None,
    ) -> Results:
        """Runs it with each of these seeds, the scenario's own where none are given.

        Runs go on at once on all cores, or on ``jobs`` threads, and hold no lock of Python's;
        Ctrl-C ends them. The same seed gives the same results to the last digit.

        ``packets`` and ``frames`` keep what became of every packet and of every unit of media
        (``Results.packets``, ``Results.frames``): about 100 bytes of memory each.

        The rest is by the names of flows. ``controllers`` has, for flows over SCTP and media
        sessions, what makes a congestion controller of a FreshPath, as a class derived from
        Controller; ``schedulers`` what makes a PathScheduler; ``sources``, for flows over SCTP
        and UDP, functions that take a seed and return an iterable of messages: pairs of seconds
        from the flow's start, never decreasing, and bytes. With any of these, runs go on one
        after the other in the calling thread. Raises CallbackError where one of them raises or
        returns what makes no sense.

        ``labels`` are put in front of each row of each table. Raises RunError if a run does not
        end within the scenario's ``steps_max``.
        """

@final
class Results:
    """What runs gave, in the order of their seeds. ``str()`` is the tables of ``lab run``."""

    @property
    def flows(self) -> Table:
        """A row for each flow of each run.

        Columns: the labels, ``seed``, ``flow``, ``kind``; ``goodput_bps``, payload that arrived
        while the flow sent; ``share`` of its busiest link, 0 to 1; ``delay_p50_ms``,
        ``delay_p95_ms``, ``delay_p99_ms`` and ``delay_max_ms`` of messages, from when they were
        ready to their arrival; ``first_ms`` from its start to the first message at the other end;
        ``messages``, and how many of them were ``lost``; ``packets`` that the sender sent;
        ``retransmitted`` packets' worth of data; of media, units that came ``late``, ``freezes``
        of the picture and ``frozen_ms`` in all; why its transport ``ended`` before the run did.
        """

    @property
    def links(self) -> Table:
        """A row for each direction of each link of each run.

        Columns: the labels, ``seed``, ``link``; ``utilisation``, what it carried of what it could
        have, 0 to 1; packets that were ``lost``, ``refused`` by its queue, and lost to a ``cut``
        or too long for it; ``queue_mean_bytes`` and ``queue_max_bytes``. All of it until the
        scenario's ``duration`` is over: what drains afterwards is not counted.
        """

    @property
    def packets(self) -> Table:
        """A row for each chunk of data of each packet on each link: docs/lab-records.md.

        ValueError if ``run(packets=True)`` did not ask for it.
        """

    @property
    def frames(self) -> Table:
        """A row for each layer of each picture, and for sound, of media and television.

        Columns: the labels, ``seed``, ``flow``, ``track``, ``frame`` (its number there),
        ``layer``, ``class``, ``bytes``; ``ready_s``, when it was made; ``deadline_s``, the
        latency later; ``completed_s``, when its last part came, none if one never did;
        ``delay_s`` from ``ready_s`` to then; ``outcome``, which is ``in time``, ``late`` or
        ``missing``: docs/lab-records.md. ValueError if ``run(frames=True)`` did not ask for it.
        """

    @property
    def seeds(self) -> list[int]:
        """The seed of each run."""

    @staticmethod
    def join(parts: list[Results]) -> Results:
        """The runs of all of them, in this order."""

    def __len__(self) -> int: ...

@final
class Table:
    """Rows and columns in Arrow's layout, which other libraries read without a copy.

    It has Arrow's PyCapsule interface: ``polars.DataFrame(table)``, ``pyarrow.table(table)`` and
    whatever else takes an Arrow stream. Columns of text are dictionaries.
    """

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...
    @property
    def num_rows(self) -> int:
        """How many rows it has."""

    @property
    def column_names(self) -> list[str]:
        """The names of its columns, in their order."""

    def __len__(self) -> int: ...
    def to_polars(self) -> polars.DataFrame:
        """As a frame of polars, which must be there."""

    def to_pandas(self) -> pandas.DataFrame:
        """As a frame of pandas on Arrow's own memory; pandas and pyarrow must be there."""

@final
class FreshPath:
    """What is known of a path before anything was sent there."""

    @property
    def pmdcs(self) -> int:
        """Bytes of the longest DATA chunk, header included."""

    @property
    def start_rate_bps(self) -> int | None:
        """How fast it may begin, in bits per second, where the flow says so."""

@final
class Ack:
    """What one SACK said about one path."""

    @property
    def now_s(self) -> float:
        """When it arrived, in seconds of the simulation."""

    @property
    def acked(self) -> int:
        """Bytes acknowledged for the first time."""

    @property
    def flight_before(self) -> int:
        """Bytes in flight on the path before it."""

    @property
    def flight(self) -> int:
        """Bytes still in flight on the path."""

    @property
    def advanced(self) -> bool:
        """Whether the oldest data in flight on the path was acknowledged."""

    @property
    def in_recovery(self) -> bool:
        """Whether the path is in Fast Recovery."""

    @property
    def rtt_s(self) -> float | None:
        """The round-trip time in seconds, if there was a sample."""

    @property
    def delivered(self) -> int:
        """Bytes acknowledged on the path so far."""

    @property
    def rate_bps(self) -> int | None:
        """The delivery rate in bits per second, if there was a sample."""

    @property
    def app_limited(self) -> bool:
        """Whether the application limited what was in flight when the sample was sent."""

@final
class SentData:
    """A chunk of data that goes out."""

    @property
    def now_s(self) -> float:
        """When, in seconds of the simulation."""

    @property
    def bytes(self) -> int:
        """Its bytes."""

    @property
    def flight(self) -> int:
        """Bytes in flight on the path before it."""

    @property
    def app_limited(self) -> bool:
        """Whether the application had nothing more to send at some time of the round trip."""

@final
class LostChunk:
    """A chunk that was declared lost."""

    @property
    def bytes(self) -> int:
        """Its bytes."""

    @property
    def in_flight(self) -> int:
        """Bytes in flight on the path right after it was sent, itself included."""

    @property
    def lost_since_sent(self) -> int:
        """Bytes declared lost on the path since it was sent, itself included."""

    @property
    def delivered(self) -> int:
        """Bytes acknowledged on the path so far."""

    @property
    def app_limited(self) -> bool:
        """Whether the application limited what was in flight when it was sent."""

@final
class Demand:
    """The message whose next packet looks for a path."""

    @property
    def now_s(self) -> float:
        """The time, in seconds of the simulation."""

    @property
    def expires_s(self) -> float | None:
        """When the message is of no use any more, in seconds of the simulation; None if never."""

    @property
    def peer_window(self) -> int:
        """Bytes that the peer's window has room for."""

    @property
    def backlog(self) -> int:
        """Bytes that wait to be sent and are as urgent as this message, itself included."""

@final
class Outlook:
    """What is known of a path that can carry data."""

    @property
    def path(self) -> int:
        """Which path: what ``PathScheduler.choose`` returns."""

    @property
    def is_open(self) -> bool:
        """Whether a packet may go out now."""

    @property
    def srtt_s(self) -> float:
        """The smoothed round-trip time in seconds; zero before the first sample."""

    @property
    def arrival_s(self) -> float:
        """How long it takes until a packet that goes this way next has arrived, in seconds."""

    @property
    def rate_bps(self) -> int:
        """How fast the path carries data, in bits per second."""

    @property
    def slow_start(self) -> bool:
        """Whether the rate doubles each round trip."""

    @property
    def usage(self) -> float:
        """The share of the window that is in flight; 1 is all of it."""

    @property
    def window(self) -> int:
        """The congestion window in bytes."""

    @property
    def ssthresh(self) -> int | None:
        """The slow-start threshold in bytes; None before the first loss."""

    @property
    def loss_rate(self) -> float:
        """The share of DATA chunks that was lost, 0 to 1."""

def cells(
    paper: str,
    *,
    seeds: int = 1,
    set: dict[str, Any] | None = None,
    only: list[str] | None = None,
    frames: int | None = None,
    jobs: int | None = None,
) -> Table:
    """See ``anabranch.papers.cells``."""
