"""What Python costs in a run: CPU time of this machine, a line for each figure.

    python costs.py                    # calls of Python from inside, packets in memory
    python costs.py packets.parquet    # what `anabranch lab run --packets` wrote, too
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import anabranch
import polars as pl

REPEATS = 5

SCENARIO = """
duration = "20s"

[[links]]
name = "lan"
rate = "50M"
delay = "20ms"
queue = "50ms"

[[flows]]
name = "file"
kind = "sctp"
controller = "rfc9260"
send_buffer = "1M"
receive_buffer = "1M"
"""


class Reno(anabranch.Controller):
    """What the scenario's controller does, in Python."""

    calls = 0

    def __init__(self, path: anabranch.FreshPath) -> None:
        super().__init__(path)
        self.packet = path.pmdcs
        self.threshold = float("inf")

    def on_ack(self, ack: anabranch.Ack) -> None:
        Reno.calls += 1
        if ack.in_recovery or not ack.advanced:
            return
        if self.window < self.threshold:
            self.window += min(ack.acked, self.packet)
        else:
            self.window += self.packet * ack.acked / self.window

    def on_loss(self, now_s: float) -> None:
        self.window = self.threshold = max(self.window / 2, 4 * self.packet)

    def on_timeout(self, now_s: float) -> None:
        self.threshold = max(self.window / 2, 4 * self.packet)
        self.window = self.packet


class First(anabranch.PathScheduler):
    """The first path that is open."""

    calls = 0

    def choose(
        self, demand: anabranch.Demand, outlooks: list[anabranch.Outlook]
    ) -> int | None:
        First.calls += 1
        return next((outlook.path for outlook in outlooks if outlook.is_open), None)


def cpu_s(run: Callable[[], Any]) -> float:
    """The least of several, as anything else on the machine only adds to it."""
    spent = []
    for _ in range(REPEATS):
        began = time.process_time()
        run()
        spent.append(time.process_time() - began)
    return min(spent)


def calls(scenario: anabranch.Scenario) -> None:
    plain = cpu_s(lambda: scenario.run([1], jobs=1))
    print(f"{scenario.duration_s / plain:8.0f} s simulated in a second, all in Rust")
    for name, counter, own in (
        ("SACK, by a controller", Reno, {"controllers": {"file": Reno}}),
        ("packet, by a scheduler", First, {"schedulers": {"file": First}}),
    ):
        spent = cpu_s(lambda own=own: scenario.run([1], **own))  # type: ignore[misc]
        each = (spent - plain) / (counter.calls / REPEATS)
        print(f"{each * 1e6:8.2f} us for each {name}: {spent / plain:.2f} times the run's")


def packets(scenario: anabranch.Scenario) -> None:
    plain = cpu_s(lambda: scenario.run([1], jobs=1))
    kept = cpu_s(lambda: scenario.run([1], jobs=1, packets=True))
    print(f"{kept / plain:8.2f} times the run's with packets=True")
    table = scenario.run([1], packets=True).packets
    spent = cpu_s(lambda: summed(pl.DataFrame(table)))
    print(f"{len(table) / spent / 1e6:8.1f} million rows a second from memory into sums by polars")


def parquet(path: str) -> None:
    rows = pl.read_parquet(path).height
    spent = cpu_s(lambda: summed(pl.read_parquet(path)))
    print(f"{rows / spent / 1e6:8.1f} million rows a second from {path}, of {rows}")


def summed(frame: pl.DataFrame) -> pl.DataFrame:
    """Touches all columns."""
    return frame.select(pl.all().count(), pl.selectors.numeric().sum().name.suffix("_sum"))


def main() -> None:
    scenario = anabranch.Scenario.parse(SCENARIO)
    calls(scenario)
    packets(scenario)
    for path in sys.argv[1:]:
        parquet(path)


if __name__ == "__main__":
    main()
