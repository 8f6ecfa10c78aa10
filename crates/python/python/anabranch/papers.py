"""The papers' experiments: what came of each cell of their tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from anabranch import _native
from anabranch._native import Table

__all__ = ["cells"]


def cells(
    paper: str,
    *,
    seeds: int = 1,
    set: dict[str, Any] | None = None,
    only: Sequence[str] = (),
    frames: int | None = None,
    jobs: int | None = None,
) -> Table:
    """Runs cells of a paper's tables, and returns a row for each: its ``cells.csv``.

    ``paper`` is ``ortiz2013``, ``kim2007``, ``almajeed2011``, ``huseynli2023`` or ``chang2010``.
    Each cell is run with the seeds 1 to ``seeds``. ``set`` has parameters that are not the
    paper's, as ``{"rtt": "80ms"}`` (``anabranch lab PAPER --parameters`` lists them). ``only``
    chooses cells by parts of their names, as ``["30 Mbit/s", "loss 0.01"]``. ``frames`` cuts the
    video of ortiz2013 and almajeed2011. Cells run at once on all cores, or on ``jobs`` threads;
    Ctrl-C ends them when those that are under way are done. Units are in the columns' names.

    Raises ValueError for a paper, a parameter or a part of a name that there is not.
    """
    if isinstance(only, str):
        only = [only]
    return _native.cells(
        paper, seeds=seeds, set=set, only=list(only), frames=frames, jobs=jobs
    )
