"""Mapped streams: the rows of plain Spark batch by batch, the costliest alone and first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark import TaskContext
from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.conftest import CONNECT
from tests.effort import few_jobs
from tests.spark.streams import read_batches, write_batches

import unskew
from unskew._spark.costs import known_costs
from unskew._spark.costs.known_costs import fingerprint_of
from unskew._spark.costs.stream_costs import StreamCosts
from unskew._spark.planning.run_records import RecordPlace
from unskew._spark.planning.work_record import WorkRecord
from unskew.errors import ParameterError, UnknownNameError
from unskew.hashing import hash_keys
from unskew.streaming import MappedStream

pytestmark = pytest.mark.spark
RESTARTS = pytest.mark.classic("looks into the batches of the driver's own process")

ROWS = "id long, cost double, key string"
SCHEMA = "id long, cost double, key string, task int"
SLOTS = 2

costs = st.one_of(
    st.none(),
    st.sampled_from([0.0, -1.0, float("nan"), float("inf"), float("-inf"), 1e308, 7.0]),
    st.floats(0, 100),
)


def uneven(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Every third row twice, every fifth not at all; each with its task."""
    task = TaskContext.get().partitionId()  # type: ignore[union-attr]
    for batch in batches:
        ids = batch.column("id").to_pylist()
        kept = [at for at, each in enumerate(ids) for _ in range((each % 5 > 0) + (each % 3 == 0))]
        rows = batch.take(pa.array(kept, pa.int64()))
        yield rows.append_column("task", pa.array([task] * rows.num_rows, pa.int32()))


def uneven_frames(frames: Iterator[Any]) -> Iterator[Any]:
    for frame in frames:
        yield frame[frame["id"] % 5 > 0].assign(task=0)


def batch_of(first: int, values: list[float | None]) -> list[tuple]:
    return [
        (first + place, value, "h" if value == 500.0 else f"k{place % 3}")
        for place, value in enumerate(values)
    ]


def run(mapped: MappedStream, folder: Path, sink: Callable[..., None] | None = None) -> None:
    """All there is, in batches; each in a folder of its own, as a repeated batch needs it."""
    out = str(folder / "out")

    def write(result: DataFrame, number: int) -> None:
        result.write.mode("overwrite").parquet(f"{out}/batch={number}")

    writer = mapped.foreachBatch(sink or write)
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start().awaitTermination()


def written(spark: SparkSession, folder: Path) -> list[str]:
    """The rows of all batches, without the task; NaN equals nothing, but its text does."""
    rows = spark.read.schema(f"{SCHEMA}, batch int").parquet(str(folder / "out"))
    return sorted(map(repr, rows.drop("task").collect()))


def expected(spark: SparkSession, batches: list[list[tuple]], function: Any) -> list[str]:
    """What plain Spark makes of each batch."""
    found: list[str] = []
    for number, batch in enumerate(batches):
        rows = spark.createDataFrame(batch, ROWS).coalesce(1)
        arrow = function is uneven
        mapped = (rows.mapInArrow if arrow else rows.mapInPandas)(function, SCHEMA)
        found.extend(map(repr, mapped.withColumn("batch", F.lit(number)).drop("task").collect()))
    return sorted(found)


@few_jobs
@given(
    values=st.lists(st.lists(costs, max_size=12), min_size=1, max_size=2),
    form=st.sampled_from(["arrow", "pandas"]),
    by=st.sampled_from(["cost", "cost_key"]),
)
def test_rows_are_those_of_plain_spark(spark, tmp_path_factory, values, form, by):
    folder = tmp_path_factory.mktemp("stream")
    batches = [batch_of(100 * number, each) for number, each in enumerate(values)]
    schema = write_batches(spark, folder / "in", ROWS, batches)
    verb = unskew.mapInArrow if form == "arrow" else unskew.mapInPandas
    function = uneven if form == "arrow" else uneven_frames
    asked = {"cost": "cost"} if by == "cost" else {"cost_key": "key", "learned": folder / "known"}
    stream = read_batches(spark, folder / "in", schema)
    run(verb(stream, function, SCHEMA, workers=SLOTS, scheme="heavy-first", **asked), folder)
    assert written(spark, folder) == expected(spark, batches, function)


def test_the_costliest_rows_of_a_batch_are_alone_and_in_front(spark, tmp_path):
    # The next batch would know that all rows really take the same.
    batch = batch_of(0, [1.0] * 40 + [500.0, 400.0])
    schema = write_batches(spark, tmp_path / "in", ROWS, [batch])
    stream = read_batches(spark, tmp_path / "in", schema)
    cost = F.col("cost") * 2
    mapped = unskew.mapInArrow(stream, seen, SCHEMA, cost=cost, workers=SLOTS, scheme="heavy-first")
    run(mapped, tmp_path)
    rows = spark.read.parquet(str(tmp_path / "out")).collect()
    assert len(rows) == 42
    assert [row["id"] for row in rows if row["task"] == 0] == [40]
    assert [row["id"] for row in rows if row["task"] == 1] == [41]


def seen(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    task = TaskContext.get().partitionId()  # type: ignore[union-attr]
    for batch in batches:
        yield batch.append_column("task", pa.array([task] * batch.num_rows, pa.int32()))


MARK = fingerprint_of(seen, "arrow", ("key",), "key")


def slow(folder: Path, number: int, first: float = 1e3) -> None:
    """Leave in the place of a batch what a function would have that is slow for key h."""
    keys = hash_keys(pa.array(["h", "k0", "k1", "k2"]))
    rows, seconds = np.array([1, 1000, 1000, 1000]), np.array([30.0, first, 1e3, 1e3])
    record = WorkRecord.of(keys, rows, seconds, fingerprint=MARK)
    RecordPlace(str(folder / f"batch-{number}"), MARK).write(record, 0, 0)


def keyed(spark: SparkSession, folder: Path, said: list[str]) -> MappedStream:
    schema = write_batches(spark, folder / "in", ROWS, [batch_of(0, [1.0] * 20 + [500.0])])
    stream = read_batches(spark, folder / "in", schema)
    mapped = unskew.mapInArrow(stream, seen, SCHEMA, cost_key="key", workers=SLOTS, say=said.append)
    assert isinstance(mapped, MappedStream)
    return mapped


def known_in(folder: Path) -> StreamCosts:
    return StreamCosts(str(folder / "checkpoint" / "unskew" / "costs"), MARK, "key")


@RESTARTS
def test_costs_by_key_are_learned_in_the_checkpoint_and_a_restart_goes_on_with_them(
    spark, tmp_path
):
    said: list[str] = []
    run(keyed(spark, tmp_path, said), tmp_path)
    assert said[0].startswith("batch 0: as is: what rows of a key cost is not known yet")
    slow(tmp_path / "checkpoint/unskew/costs", 0)
    run(keyed(spark, tmp_path, said), tmp_path)
    assert said[1].startswith("batch 1: heavy first: ")
    rows = spark.read.parquet(str(tmp_path / "out" / "batch=1")).collect()
    assert [row["key"] for row in rows if row["task"] == 0] == ["h"]
    # Batch 1 ran quickly and is not in the file yet, but nothing is forgotten.
    known = known_in(tmp_path).before(3)
    assert known is not None
    assert known.record.rows == 3001 + 21


@RESTARTS
def test_once_enough_is_known_a_batch_is_not_timed(spark, tmp_path):
    costs = tmp_path / "checkpoint/unskew/costs"
    said: list[str] = []
    for number, first in enumerate([1e3, 1.1e3]):
        run(keyed(spark, tmp_path, said), tmp_path)
        slow(costs, number, first)
    for number in (2, 3):
        run(keyed(spark, tmp_path, said), tmp_path)
        assert said[number].startswith(f"batch {number}: heavy first: ")
        assert [each.name for each in costs.iterdir()] == ["costs"]
    known = known_in(tmp_path).before(4)
    assert known is not None
    assert known.record.rows == 2 * 3001
    assert spark.read.parquet(str(tmp_path / "out")).count() == 4 * 21


def test_costs_are_kept_in_the_folder_that_was_given(spark, tmp_path):
    """On Spark Connect, too, where batches run in a process of the server."""
    batches = [batch_of(100 * number, [1.0] * 7) for number in range(3)]
    schema = write_batches(spark, tmp_path / "in", ROWS, batches)
    stream = read_batches(spark, tmp_path / "in", schema)
    folder = tmp_path / "known"
    given = {"cost_key": "key", "learned": folder, "workers": SLOTS}
    run(unskew.mapInArrow(stream, seen, SCHEMA, **given), tmp_path)
    known = StreamCosts(str(folder), MARK, "key").before(9)
    assert known is not None
    assert known.record.rows == 21
    keys = hash_keys(pa.array(["k0", "k1", "k2"]))
    assert set(known.record.keys.tolist()) == set(keys.tolist())


def test_a_stream_with_state_gives_its_rows_once(spark, tmp_path):
    values = [[1.0, 500.0, 2.0], [500.0, 1.0, 9.0]]
    schema = write_batches(spark, tmp_path / "in", ROWS, [batch_of(0, each) for each in values])
    stream = read_batches(spark, tmp_path / "in", schema).dropDuplicates(["id", "cost"])
    mapped = unskew.mapInArrow(
        stream, seen, SCHEMA, cost="cost", workers=SLOTS, scheme="heavy-first"
    )
    run(mapped, tmp_path)
    rows = spark.read.parquet(str(tmp_path / "out")).collect()
    expected = {(place, cost) for each in values for place, cost in enumerate(each)}
    assert sorted((row["id"], row["cost"]) for row in rows) == sorted(expected)


@RESTARTS
def test_a_batch_that_fails_comes_again_and_counts_once(spark, tmp_path):
    said: list[str] = []
    out: list[tuple[int, list[int]]] = []
    run(keyed(spark, tmp_path, said), tmp_path, lambda result, number: result.collect())

    def failing(result: DataFrame, number: int) -> None:
        out.append((number, sorted(row["id"] for row in result.collect())))
        if len(out) == 1:
            raise OSError("the sink is gone")

    with pytest.raises(StreamingQueryException, match="the sink is gone"):
        run(keyed(spark, tmp_path, said), tmp_path, failing)
    run(keyed(spark, tmp_path, said), tmp_path, failing)
    assert [number for number, _ in out] == [1, 1, 2]
    assert out[0] == out[1]
    known = known_in(tmp_path).before(3)
    assert known is not None
    assert known.record.rows == 3 * 21


@RESTARTS
def test_a_damaged_file_of_costs_is_ignored(spark, tmp_path, caplog):
    said: list[str] = []
    for _ in range(2):
        run(keyed(spark, tmp_path, said), tmp_path)
    file = tmp_path / "checkpoint/unskew/costs/costs"
    file.write_bytes(file.read_bytes()[:-5])
    run(keyed(spark, tmp_path, said), tmp_path)
    assert "ignored a damaged file" in caplog.text
    assert spark.read.parquet(str(tmp_path / "out")).count() == 3 * 21
    known = known_in(tmp_path).before(3)
    assert known is not None
    assert known.record.rows == 2 * 21


@RESTARTS
def test_rows_are_kept_only_while_their_batch_runs(spark, tmp_path):
    schema = write_batches(spark, tmp_path / "in", ROWS, [batch_of(0, [1.0] * 20 + [500.0])])
    stream = read_batches(spark, tmp_path / "in", schema)
    mapped = unskew.mapInArrow(stream, seen, SCHEMA, cost="cost", workers=SLOTS)
    kept: list[int] = []

    def count(result: DataFrame, number: int) -> None:
        result.collect()
        kept.append(len(spark.sparkContext._jsc.sc().getRDDStorageInfo()))  # type: ignore[union-attr]

    before = len(spark.sparkContext._jsc.sc().getRDDStorageInfo())
    run(mapped, tmp_path, count)
    assert kept == [before + 1]
    assert len(spark.sparkContext._jsc.sc().getRDDStorageInfo()) == before


@RESTARTS
def test_after_a_short_batch_the_next_is_left_to_spark_at_once(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(known_costs, "SHORT", 1e6)
    said: list[str] = []
    schema = write_batches(spark, tmp_path / "in", ROWS, [batch_of(0, [1.0, 500.0])] * 2)
    stream = read_batches(spark, tmp_path / "in", schema)
    run(unskew.mapInArrow(stream, seen, SCHEMA, cost="cost", say=said.append), tmp_path)
    assert said[1].startswith("batch 1: as is: an earlier run took")


def test_the_users_error_ends_the_stream(spark, tmp_path):
    def refuse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if 3 in batch.column("id").to_pylist():
                raise ValueError("row 3 is unlucky")
            yield batch

    schema = write_batches(spark, tmp_path / "in", ROWS, [batch_of(0, [1.0] * 5 + [500.0])])
    stream = read_batches(spark, tmp_path / "in", schema)
    mapped = unskew.mapInArrow(stream, refuse, ROWS, cost="cost", scheme="heavy-first")
    with pytest.raises(StreamingQueryException, match="row 3 is unlucky"):
        run(mapped, tmp_path)


def test_mistakes_are_refused_before_the_stream_starts(spark):
    stream = spark.readStream.format("rate").load()

    def mapped(**given: Any) -> MappedStream:
        return unskew.mapInArrow(stream, seen, SCHEMA, **given)

    with pytest.raises(ParameterError, match="cost is timestamp"):
        mapped(cost="timestamp")
    with pytest.raises(UnknownNameError, match="did you mean 'value'"):
        mapped(cost="valu")
    with pytest.raises(AnalysisException):
        mapped(cost_key=F.col("nowhere"), learned="here")
    with pytest.raises(ParameterError, match="give cost_key"):
        mapped(cost="value", scheme="posg")


@pytest.mark.skipif(not CONNECT, reason="a classic session tells the checkpoint")
def test_what_spark_connect_cannot_do_is_said(spark):
    stream = spark.readStream.format("rate").load()
    with pytest.raises(ParameterError, match="give learned="):
        unskew.mapInArrow(stream, seen, SCHEMA, cost_key="value")
    with pytest.raises(ParameterError, match=r"name it by F\.col"):
        unskew.mapInArrow(stream, seen, SCHEMA, cost=stream["value"])


@pytest.mark.classic("said by the test before")
def test_a_column_of_the_stream_is_found_in_its_batches(spark, tmp_path):
    schema = write_batches(spark, tmp_path / "in", ROWS, [batch_of(0, [1.0] * 20 + [500.0])])
    stream = read_batches(spark, tmp_path / "in", schema)
    given = {"cost": stream["cost"], "workers": SLOTS, "scheme": "heavy-first"}
    run(unskew.mapInArrow(stream, seen, SCHEMA, **given), tmp_path)
    rows = spark.read.parquet(str(tmp_path / "out")).collect()
    assert [row["id"] for row in rows if row["task"] == 0] == [20]
