"""Tables: what is in them, and that nobody copies them."""

import pandas
import polars
import pyarrow
import pytest


def test_packets_have_a_row_each(one_path):
    results = one_path.run([1, 2], packets=True)
    packets = results.packets.to_polars()
    assert packets.columns[:4] == ["seed", "packet", "sent_s", "queued_s"]
    assert packets["flow"].unique().to_list() == ["file"]
    assert packets["seed"].unique().sort().to_list() == [1, 2]
    of_one = packets.filter(polars.col("seed") == 1)
    repeated = of_one.filter(polars.col("repeated") & (polars.col("direction") == "forward"))
    flows = results.flows.to_polars()
    assert repeated.height == flows["retransmitted"][0]
    refused = of_one.filter(
        polars.col("outcome") == "refused",
        polars.col("direction") == "forward",
        polars.col("sent_s") < one_path.duration_s,
    )["packet"].n_unique()
    assert refused == results.links.to_polars()["refused"][0]


def test_frames_have_a_row_for_each_layer(film):
    results = film.run([1], frames=True)
    frames = results.frames.to_polars()
    flow = results.flows.to_polars()
    assert frames.height == flow["messages"][0]
    in_time = (frames["outcome"] == "in time").sum()
    assert in_time == flow["messages"][0] - flow["lost"][0]
    assert frames["frame"].to_list()[:3] == [0, 1, 2]
    assert frames["class"].to_list()[:3] == ["key frame", "disposable", "reference"]
    assert ((frames["deadline_s"] - frames["ready_s"]) - 0.2).abs().max() < 1e-9
    delays = frames["completed_s"] - frames["ready_s"]
    assert (delays - frames["delay_s"]).abs().max() < 1e-9
    assert frames.filter(outcome="missing")["completed_s"].is_null().all()


def test_what_was_not_asked_for_is_said(one_path):
    results = one_path.run([1])
    for name in ("packets", "frames"):
        with pytest.raises(ValueError, match=rf"run\({name}=True\)"):
            getattr(results, name)


def test_polars_and_pandas_read_the_memory_that_there_is(one_path):
    table = one_path.run([1], packets=True).packets
    arrow = pyarrow.table(table)
    here = [chunk.buffers()[1].address for chunk in arrow["sent_s"].chunks]
    assert here == [chunk.buffers()[1].address for chunk in pyarrow.table(table)["sent_s"].chunks]
    frame = polars.DataFrame(table)
    there = [chunk.to_arrow().buffers()[1].address for chunk in frame["sent_s"].get_chunks()]
    assert there == here
    column = table.to_pandas()["sent_s"]
    chunks = pyarrow.chunked_array(column.array._pa_array).chunks
    assert [chunk.buffers()[1].address for chunk in chunks] == here
    assert isinstance(column, pandas.Series) and len(column) == len(table)


def test_what_is_missing_is_null(one_path):
    flows = one_path.run([1]).flows.to_polars()
    assert flows["late"].to_list() == [None]
    assert flows["ended"].to_list() == [None]


def test_a_table_outlives_its_results(one_path):
    table = one_path.run([1], packets=True).packets
    stream = pyarrow.table(table)
    rows = len(table)
    del table
    assert stream.num_rows == rows
