"""Maps of rows with known costs: the rows of plain Spark, the costliest alone and first."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark import TaskContext
from pyspark.errors import AnalysisException, PythonException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from tests.effort import few_jobs

import unskew
from unskew._spark.planning import map_decision
from unskew._spark.planning.row_costs import cost_column, measured_costs
from unskew.errors import ParameterError, UnknownNameError

pytestmark = pytest.mark.spark
STAYING = pytest.mark.classic("Spark Connect does not tell whether rows repeat")

SLOTS = 3
PARTITIONS = 4 * SLOTS
"""So many that light rows may stay."""
SCHEMA = "id long, task int, beside int"

costs = st.one_of(
    st.none(),
    st.sampled_from([0.0, -1.0, float("nan"), float("inf"), float("-inf"), 1e308, 5e-324, 7.0]),
    st.floats(0, 100),
)


def rows_of(frame: DataFrame) -> list[str]:
    return sorted(map(repr, frame.collect()))  # NaN equals nothing


def with_costs(spark: SparkSession, values: list[float | None], partitions: int) -> DataFrame:
    """Rows with these costs; Spark writes out NaN and infinities as words."""
    texts = F.array(*(F.lit(None if value is None else str(value)) for value in values or [0.0]))
    rows = spark.range(0, len(values), 1, partitions)
    return rows.withColumn("cost", F.get(texts, F.col("id").cast("int")).cast("double"))


def seen(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Each row's task, and how many rows its batch has besides."""
    task = TaskContext.get().partitionId()  # type: ignore[union-attr]
    for batch in batches:
        count = batch.num_rows
        yield pa.record_batch(
            {
                "id": batch.column("id"),
                "task": pa.array([task] * count, pa.int32()),
                "beside": pa.array([count - 1] * count, pa.int32()),
            }
        )


def uneven(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Every third row twice, every fifth not at all."""
    for batch in batches:
        ids = batch.column("id").to_pylist()
        kept = [at for at, each in enumerate(ids) for _ in range((each % 5 > 0) + (each % 3 == 0))]
        yield batch.take(pa.array(kept, pa.int64()))


@few_jobs
@given(
    values=st.lists(costs, max_size=60),
    partitions=st.integers(1, 5),
    scheme=st.sampled_from(["auto", "heavy-first"]),
)
def test_rows_are_those_of_plain_spark(spark, values, partitions, scheme):
    rows = with_costs(spark, values, partitions)
    for slots in (1, SLOTS):
        ours = unskew.mapInArrow(
            rows, uneven, rows.schema, cost="cost", workers=slots, scheme=scheme
        )
        plain = rows.mapInArrow(uneven, rows.schema)
        assert ours.schema == plain.schema
        assert rows_of(ours) == rows_of(plain)


@pytest.mark.parametrize("chunks", [pytest.param(0, marks=STAYING), 4 * SLOTS])
def test_every_way_keeps_all_rows(spark, monkeypatch, chunks):
    """Rows that stay and rows in chunks, in both forms."""
    _only(monkeypatch, chunks)
    rows = with_costs(spark, [float("inf"), *range(40), 500.0, None, 90.0, 90.0], PARTITIONS)
    given = {"cost": "cost", "workers": SLOTS, "scheme": "heavy-first"}
    ours = unskew.mapInArrow(rows, uneven, rows.schema, **given)
    assert rows_of(ours) == rows_of(rows.mapInArrow(uneven, rows.schema))

    def doubled(frames):
        for frame in frames:
            frame["id"] = frame["id"] * 2
            yield frame[frame["id"] % 5 > 0]

    ours = unskew.mapInPandas(rows, doubled, rows.schema, **given)
    assert rows_of(ours) == rows_of(rows.mapInPandas(doubled, rows.schema))


def test_infinite_costs_all_count_as_the_highest(spark):
    rows = with_costs(spark, [float("inf")] * 6 + [50.0, None, float("nan"), -3.0], 3)
    costs = measured_costs(rows, cost_column(rows, "cost"), most=4)
    assert costs is not None
    assert (costs.rows, costs.total, costs.top.tolist()) == (10, 350.0, [50.0] * 4)
    assert costs.rest == 150.0
    assert costs.rests.sum() == 150.0


def uneven_input(spark: SparkSession) -> DataFrame:
    """1,000 rows in the first partition, 100 in each of three others."""
    return spark.range(0, 4000, 1, 4).filter("id < 1000 or id % 10 = 0")


@pytest.mark.parametrize("partitions", [4, None])
def test_costs_are_added_up_by_input_partition(spark, partitions):
    rows, cost = uneven_input(spark), F.when(F.col("id") == 3000, 7.0).otherwise(1.0)
    costs = measured_costs(rows, cost, most=1, partitions=partitions)
    assert costs is not None
    assert costs.top.tolist() == [7.0]
    assert costs.rests == pytest.approx([1000.0, 100.0, 100.0, 99.0])


def test_costs_whose_sum_is_hardly_finite_are_added_up(spark):
    costs = measured_costs(with_costs(spark, [6e307, *[3e307] * 3], 1), F.col("cost"), 1, 1)
    assert costs is not None
    assert costs.rests == pytest.approx([9e307])


def test_many_partitions_share_sums_by_their_rows(spark):
    """Of 90 partitions all but one have 10 rows."""
    rows = spark.range(0, 90_000, 1, 90).filter("id div 1000 = 40 or id % 100 = 0")
    costs = measured_costs(rows, F.lit(2.0), most=1, partitions=90)
    assert costs is not None
    assert costs.rests[40] == pytest.approx(2000, rel=0.01)
    assert np.delete(costs.rests, 40) == pytest.approx(np.full(89, 20.0), rel=0.15)
    assert costs.rests.sum() == pytest.approx(costs.rest)


def test_auto_levels_light_rows_that_are_mostly_in_one_partition(spark):
    said: list[str] = []
    given = {"cost": F.lit(1.0), "workers": SLOTS, "say": said.append}
    mapped = unskew.mapInArrow(uneven_input(spark), seen, SCHEMA, **given)
    assert said[0].startswith("heavy first: 1")
    tasks = [row["task"] for row in mapped.collect()]
    assert len(tasks) == 1300
    assert max(map(tasks.count, tasks)) < 1300 / SLOTS


@pytest.mark.parametrize("form", ["arrow", "pandas"])
@pytest.mark.parametrize("values", [[], [None], [float("inf")], [0.0, 0.0]])
def test_few_rows_or_none_are_those_of_plain_spark(spark, form, values):
    rows = with_costs(spark, values, 2)
    verb = unskew.mapInArrow if form == "arrow" else unskew.mapInPandas
    ours = verb(rows, lambda batches: batches, rows.schema, cost="cost", scheme="heavy-first")
    assert rows_of(ours) == rows_of(rows)


def _only(monkeypatch: pytest.MonkeyPatch, chunks: int) -> None:
    """Of the ways by cost only one with so many chunks."""
    by_cost = map_decision.MapJob.by_cost
    monkeypatch.setattr(
        map_decision.MapJob,
        "by_cost",
        lambda job: (way for way in by_cost(job) if way.heavy and way.chunks == chunks),
    )


@pytest.mark.parametrize("chunks", [pytest.param(0, marks=STAYING), 4 * SLOTS])
def test_heavy_rows_are_alone_and_in_front(spark, monkeypatch, chunks):
    _only(monkeypatch, chunks)
    values = [1.0] * 200
    values[60], values[150], values[151] = 300.0, 400.0, 300.0
    rows = with_costs(spark, values, PARTITIONS)
    mapped = unskew.mapInArrow(rows, seen, SCHEMA, cost="cost", workers=SLOTS, scheme="heavy-first")
    tasks = {row["id"]: row["task"] for row in mapped.collect()}
    assert [tasks[150], tasks[60], tasks[151]] == [0, 1, 2]
    assert min(task for number, task in tasks.items() if number not in (60, 150, 151)) == 3
    if chunks:
        others = [task for number, task in tasks.items() if number not in (60, 150, 151)]
        assert set(others) == set(range(3, 3 + chunks))
        assert max(map(others.count, others)) < 2 * len(others) / chunks


def test_batches_of_costly_rows_are_small(spark, monkeypatch):
    _only(monkeypatch, 4 * SLOTS)
    rows = with_costs(spark, [100.0, *[1.0] * 50, *[8.0] * 40], 2)
    mapped = unskew.mapInArrow(rows, seen, SCHEMA, cost="cost", workers=SLOTS, scheme="heavy-first")
    beside = {row["id"]: row["beside"] for row in mapped.collect()}
    total = 100 + 50 + 320
    assert beside[0] == 0
    assert max(beside[number] for number in range(60, 91)) <= total / SLOTS / 8


def test_auto_moves_heavy_rows_and_leaves_equal_ones(spark, capsys):
    heavy = with_costs(spark, [1.0] * 50 + [80.0, 70.0] + [1.0] * 48, SLOTS)
    for cost in ("cost", F.col("cost") * 3):
        said: list[str] = []
        mapped = unskew.mapInArrow(heavy, seen, SCHEMA, cost=cost, workers=SLOTS, say=said.append)
        assert said[0].startswith("heavy first: ")
        unskew.explain(mapped)
        printed = capsys.readouterr().out
        for name in ("heavy first", "as is", "4 x slots", "16 x slots"):
            assert name in printed
        assert len(mapped.collect()) == 100
    even = with_costs(spark, [2.0] * 300, SLOTS)
    mapped = unskew.mapInArrow(even, seen, SCHEMA, cost="cost", workers=SLOTS, say=said.append)
    assert said[-1].startswith("as is: ")
    assert {row["task"] for row in mapped.collect()} == set(range(SLOTS))


@pytest.mark.classic("counts in an accumulator")
def test_an_input_that_is_more_than_a_scan_is_read_once(spark):
    said: list[str] = []
    rows = with_costs(spark, [1.0, 500.0, *[1.0] * 30], 3)
    read = spark.sparkContext.accumulator(0)

    def counted(batches):
        for batch in batches:
            read.add(batch.num_rows)
            yield batch

    costly = rows.mapInArrow(counted, rows.schema)
    mapped = unskew.mapInArrow(costly, seen, SCHEMA, cost="cost", say=said.append)
    assert len(mapped.collect()) == rows.count()
    assert read.value == rows.count()
    assert "read once" in said[0]


def test_rows_that_pass_a_filter_by_chance_are_judged_once(spark):
    chance = "cast(reflect('java.lang.Math', 'random') as double) < 0.5"
    rows = spark.range(0, 4000, 1, 12).filter(chance)
    cost = F.when(F.col("id") % 1000 == 7, 5000.0).otherwise(1.0)
    ours = unskew.mapInArrow(rows, seen, SCHEMA, cost=cost, workers=2, scheme="heavy-first")
    found = [row["id"] for row in ours.collect()]
    assert len(set(found)) == len(found)


def test_costs_that_change_from_reading_to_reading_lose_no_row(spark):
    rows = spark.range(0, 300, 1, 4).withColumn("u", F.rand())
    for cost in (F.col("u"), F.pow(F.lit(10.0), F.rand() * 4)):
        ours = unskew.mapInArrow(rows, seen, SCHEMA, cost=cost, workers=2, scheme="heavy-first")
        assert sorted(row["id"] for row in ours.collect()) == list(range(300))


def test_a_cost_that_fails_leaves_the_rows_to_spark(spark):
    rows = spark.range(0, 50, 1, 2)
    failing = F.raise_error(F.lit("no cost")).cast("double")
    ours = unskew.mapInArrow(rows, seen, SCHEMA, cost=failing, scheme="heavy-first")
    assert ours.count() == 50


def test_the_users_error_arrives_unchanged(spark):
    def refuse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if 3 in batch.column("id").to_pylist():
                raise ValueError("row 3 is unlucky")
            yield batch

    rows = with_costs(spark, [1.0, 2.0, 3.0, 400.0, 5.0], 2)
    ours = unskew.mapInArrow(rows, refuse, rows.schema, cost="cost", scheme="heavy-first")
    with pytest.raises(PythonException, match="ValueError: row 3 is unlucky"):
        ours.collect()

    def refuse_frames(frames):
        for frame in frames:
            if (frame["id"] == 3).any():
                raise ValueError("row 3 is unlucky")
            yield frame

    ours = unskew.mapInPandas(rows, refuse_frames, rows.schema, cost="cost", scheme="heavy-first")
    with pytest.raises(PythonException, match="ValueError: row 3 is unlucky"):
        ours.collect()


@pytest.mark.parametrize("chunks", [pytest.param(0, marks=STAYING), 4 * SLOTS])
def test_rows_of_tasks_that_are_tried_again_arrive_once(spark, monkeypatch, chunks):
    def once_too_often(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for result in uneven(batches):
            yield result
            if TaskContext.get().attemptNumber() == 0:  # type: ignore[union-attr]
                raise OSError("the service is not up yet")

    _only(monkeypatch, chunks)
    rows = with_costs(spark, [float("inf"), *range(40), 500.0, None, 90.0, 90.0], PARTITIONS)
    given = {"cost": "cost", "workers": SLOTS, "scheme": "heavy-first"}
    ours = unskew.mapInArrow(rows, once_too_often, rows.schema, **given)
    assert rows_of(ours) == rows_of(rows.mapInArrow(uneven, rows.schema))


def test_mistakes_are_refused_before_any_row_moves(spark):
    rows = spark.range(3).withColumn("text", F.lit("a"))

    def mapped(**given):
        return unskew.mapInArrow(rows, seen, SCHEMA, **given)

    with pytest.raises(ParameterError, match="either cost"):
        mapped()
    with pytest.raises(ParameterError, match="either cost"):
        mapped(cost="id", cost_key="id")
    with pytest.raises(ParameterError, match="cost is string"):
        mapped(cost="text")
    with pytest.raises(UnknownNameError, match="did you mean 'id'"):
        mapped(cost="idd")
    with pytest.raises(AnalysisException):
        mapped(cost=F.col("nowhere"))
    with pytest.raises(ParameterError, match="give cost_key"):
        mapped(cost="id", scheme="posg")
    with pytest.raises(ParameterError, match="remember"):
        mapped(cost="id", learned="here.json")
    with pytest.raises(ParameterError, match="name"):
        mapped(cost="id", name="")
