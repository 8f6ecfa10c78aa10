"""What a controller and a path scheduler of one's own are derived from.

Deriving is a convenience: any object with the same methods and attributes will do.
"""

from __future__ import annotations

from anabranch._native import Ack, Demand, FreshPath, Outlook

__all__ = ["Controller", "PathScheduler"]


class Controller:
    """A congestion controller: one is made for each path of each run.

    After each call the simulator reads two attributes: ``window``, the bytes that may be in
    flight, 1 to 2**40, and ``pacing_rate``, bits per second, or None where the window alone
    decides. All sizes are bytes of DATA chunks with header and padding.

    Further methods are called if a class has them; each costs a call:
    ``on_sent(sent: SentData)`` for each chunk that goes out,
    ``on_chunk_lost(now_s: float, lost: LostChunk)`` for each that was declared lost,
    ``undo_loss(now_s: float)`` when what was taken for lost has arrived,
    ``on_idle(periods: int)`` after so many retransmission timeouts without data, and
    ``on_mtu(pmdcs: int)`` when packets of another size fit.
    """

    window: float
    pacing_rate: float | None

    def __init__(self, path: FreshPath) -> None:
        """Begins with four packets, as RFC 9260 section 7.2.1 has it at most."""
        self.window = 4 * path.pmdcs
        self.pacing_rate = None

    def on_ack(self, ack: Ack) -> None:
        """A SACK said something about the path; called before the losses that it reveals."""
        raise NotImplementedError("on_ack(ack) is what makes a controller")

    def on_loss(self, now_s: float) -> None:
        """Losses were found, the first ones of a Fast Recovery."""

    def on_timeout(self, now_s: float) -> None:
        """T3-rtx expired."""


class PathScheduler:
    """Says which path the next packet of new data takes: one is made for each association."""

    def choose(self, demand: Demand, outlooks: list[Outlook]) -> int | None:
        """The ``path`` of an outlook whose ``is_open`` is true; None if the message waits."""
        raise NotImplementedError("choose(demand, outlooks) is what makes a scheduler")
