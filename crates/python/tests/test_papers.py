"""The papers' cells."""

import pytest

from anabranch import papers


def test_cells_are_a_table_with_the_papers_units():
    only = ["loss 10 %", "delay 10 ms"]
    table = papers.cells("kim2007", only=only).to_polars()
    assert table.height >= 3
    assert {"carrier", "seed"} <= set(table.columns)
    assert table["seed"].unique().to_list() == [1]


@pytest.mark.parametrize(
    ("paper", "only", "options"),
    [
        ("ortiz2013", ["30 Mbit/s", "loss 0.01", "Anabranch"], {"frames": 5}),
        ("almajeed2011", [], {"frames": 5}),
        ("huseynli2023", [], {}),
        ("chang2010", ["1", "SCTP"], {}),
    ],
)
def test_each_paper_has_cells(paper, only, options):
    table = papers.cells(paper, only=only, **options)
    assert len(table) > 0 and "seed" in table.column_names


def test_what_there_is_not_is_said():
    with pytest.raises(ValueError, match="there is no paper kim2008: give ortiz2013, kim2007"):
        papers.cells("kim2008")
    with pytest.raises(ValueError, match="has no cell with loss 77 %: its cells are called"):
        papers.cells("kim2007", only="loss 77 %")
    with pytest.raises(ValueError, match="kim2007: there is no parameter colour"):
        papers.cells("kim2007", set={"colour": "red"})
    with pytest.raises(ValueError, match="leave frames out"):
        papers.cells("kim2007", frames=10)
    with pytest.raises(ValueError, match="seeds is 0"):
        papers.cells("kim2007", seeds=0)
