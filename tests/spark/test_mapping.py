"""Functions scheduled by cost give what plain Spark gives: same rows, same errors."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyspark import TaskContext
from pyspark.errors import AnalysisException, PythonException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StructField, StructType

import unskew
from unskew._spark.costs.cost_aware_map import SHAPE, CostAwareMap
from unskew._spark.costs.learned_costs import PosgStream
from unskew.errors import InputError, ParameterError, UnknownNameError
from unskew.sketches.cost_pair import CostPair, CostShape

pytestmark = pytest.mark.spark

SCHEMA = "id long, entity string, twice long"


def rows_of(frame: DataFrame) -> list[Row]:
    return sorted(frame.collect(), key=repr)


@pytest.fixture(scope="module")
def entities(spark: SparkSession) -> DataFrame:
    """400 rows in 6 partitions, one of them empty; a tenth of the cost keys are null."""
    entity = F.when(F.col("id") % 10 == 0, None).otherwise(
        F.concat(F.lit("e"), F.pmod(F.xxhash64("id"), F.lit(7)))
    )
    rows = spark.range(0, 400, 1, 6).filter("id < 200 or id >= 268")
    return rows.withColumn("entity", entity)


def doubled(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Every third row twice, every fifth not at all; e0 costs 2 ms, others nothing."""
    for batch in batches:
        ids = batch.column("id").to_numpy()
        time.sleep(0.002 * sum(entity == "e0" for entity in batch.column("entity").to_pylist()))
        kept = np.repeat(np.arange(ids.size), np.where(ids % 5 == 0, 0, np.where(ids % 3, 1, 2)))
        taken = batch.take(pa.array(kept))
        twice = pa.array(2 * ids[kept], pa.int64())
        yield pa.RecordBatch.from_arrays([*taken.columns, twice], ["id", "entity", "twice"])


@pytest.fixture(scope="module")
def plain_rows(entities: DataFrame) -> list[Row]:
    return rows_of(entities.mapInArrow(doubled, SCHEMA))


@pytest.fixture(params=["auto", "posg"])
def scheme(request) -> str:
    return str(request.param)


def test_arrow_rows_are_those_of_plain_spark(entities, plain_rows, scheme):
    ours = unskew.mapInArrow(entities, doubled, SCHEMA, cost_key="entity", workers=3, scheme=scheme)
    assert ours.schema == entities.mapInArrow(doubled, SCHEMA).schema
    assert rows_of(ours) == plain_rows


def test_pandas_rows_are_those_of_plain_spark(entities, scheme):
    def double(frames):
        for frame in frames:
            yield frame[frame["id"] % 5 > 0].assign(twice=lambda kept: kept["id"] * 2)

    ours = unskew.mapInPandas(entities, double, SCHEMA, cost_key="entity", workers=3, scheme=scheme)
    plain = entities.mapInPandas(double, SCHEMA)
    assert ours.schema == plain.schema
    assert rows_of(ours) == rows_of(plain)


def test_pandas_columns_without_names_go_by_position(entities):
    def double(frames):
        for frame in frames:
            yield frame.assign(twice=frame["id"] * 2).set_axis([0, 1, 2], axis=1)

    ours = unskew.mapInPandas(entities, double, SCHEMA, cost_key="entity", workers=2, scheme="posg")
    assert rows_of(ours) == rows_of(entities.mapInPandas(double, SCHEMA))


def test_the_cost_key_may_be_an_expression_or_several_columns(entities, plain_rows):
    for key in (F.length("entity"), ["entity", "id"]):
        ours = unskew.mapInArrow(entities, doubled, SCHEMA, cost_key=key, workers=2, scheme="posg")
        assert rows_of(ours) == plain_rows


def test_equal_rows_and_rows_behind_a_shuffle_all_arrive(spark):
    same = spark.range(0, 300, 1, 3).select(F.lit(7).alias("id"), F.lit("e0").alias("entity"))
    mixed = spark.range(0, 300, 1, 3).selectExpr("id % 11 id", "'e1' entity").repartition(4, "id")
    for rows in (same, mixed):
        rows = rows.select(F.col("id").cast("long"), "entity")
        ours = unskew.mapInArrow(rows, doubled, SCHEMA, cost_key="entity", workers=3, scheme="posg")
        assert rows_of(ours) == rows_of(rows.mapInArrow(doubled, SCHEMA))


def test_rows_drawn_at_random_are_drawn_once(spark, tmp_path):
    """A random column is another one each time it is computed; the two parts must agree."""

    def seen(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield from batches

    drawn = spark.range(0, 500, 1, 4).withColumn("u", F.rand())
    ours = unskew.mapInArrow(drawn, seen, drawn.schema, cost_key="u", workers=2, scheme="posg")
    assert sorted(row["id"] for row in ours.collect()) == list(range(500))


def test_no_rows_at_all(entities, scheme):
    none = entities.filter("id < 0")
    ours = unskew.mapInArrow(none, doubled, SCHEMA, cost_key="entity", workers=2, scheme=scheme)
    assert ours.collect() == []


def test_a_function_that_keeps_no_row(entities):
    def nothing(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.slice(0, 0)

    given = {"cost_key": "entity", "workers": 2, "scheme": "posg"}
    assert unskew.mapInArrow(entities, nothing, entities.schema, **given).collect() == []


def test_required_columns_stay_required(entities):
    def ids(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch.select(["id"])

    schema = StructType([StructField("id", LongType(), nullable=False)])
    ours = unskew.mapInArrow(entities, ids, schema, cost_key="entity", workers=2, scheme="posg")
    assert ours.schema == entities.mapInArrow(ids, schema).schema


def test_the_users_error_arrives_unchanged(entities):
    def refuse(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if batch.num_rows:
                raise ValueError("row 13 is unlucky")
            yield batch

    with pytest.raises(PythonException) as plain:
        entities.mapInArrow(refuse, entities.schema).collect()
    with pytest.raises(PythonException) as ours:
        unskew.mapInArrow(
            entities, refuse, entities.schema, cost_key="entity", workers=2, scheme="posg"
        ).collect()
    last = "ValueError: row 13 is unlucky"
    assert last in str(plain.value)
    assert last in str(ours.value)


def once_too_often(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Every task fails after its first result, and succeeds when it is tried again."""
    context = TaskContext.get()
    for result in doubled(batches):
        yield result
        if context is not None and context.attemptNumber() == 0:
            raise OSError("the service is not up yet")


def test_rows_of_tasks_that_are_tried_again_arrive_once(entities, plain_rows, scheme):
    ours = unskew.mapInArrow(
        entities, once_too_often, SCHEMA, cost_key="entity", workers=3, scheme=scheme
    )
    assert rows_of(ours) == plain_rows


def test_costs_of_tasks_that_are_tried_again_count_once(entities):
    work = CostAwareMap.of(entities, once_too_often, SCHEMA, "arrow", "entity", 2)
    measured = work.timed(entities, None).select(work.costs).dropna().collect()
    assert work.joined(row[0] for row in measured).rows == entities.count()


def test_mistakes_are_refused_before_any_row_moves(entities):
    with pytest.raises(UnknownNameError, match="entity"):
        unskew.mapInArrow(entities, doubled, SCHEMA, cost_key="entiti")
    with pytest.raises(AnalysisException):
        unskew.mapInArrow(entities, doubled, SCHEMA, cost_key=F.col("nowhere")).collect()
    with pytest.raises(ParameterError, match="learn"):
        unskew.mapInArrow(entities, doubled, SCHEMA, cost_key="entity", learn=1.0)
    with pytest.raises(ParameterError, match="workers"):
        unskew.mapInArrow(entities, doubled, SCHEMA, cost_key="entity", workers=0)
    with pytest.raises(ParameterError, match="streams"):
        unskew.mapInArrow(entities, doubled, SCHEMA, cost_key="entity", learned="here.json")
    with pytest.raises(UnknownNameError, match="There are: auto, heavy-first, posg"):
        unskew.mapInArrow(entities, doubled, SCHEMA, cost_key="entity", scheme="pkg")


def test_rows_go_by_cost_where_the_scheme_says_so_though_it_does_not_pay(entities, plain_rows):
    said: list[str] = []
    mapped = unskew.mapInArrow(
        entities, doubled, SCHEMA, cost_key="entity", workers=3, scheme="posg", say=said.append
    )
    assert rows_of(mapped) == plain_rows
    assert said == ["posg: rows are dealt by the expected cost of their key"]


def test_every_task_reports_its_rows(entities):
    said: list[str] = []
    stream = PosgStream(entities, _work(entities), None, said.append)
    for number in range(2):
        stream.process(entities, number, lambda result, number: result.collect())
        assert stream.pair.rows == (number + 1) * entities.count()
    assert "as is" in said[0]
    assert f"{entities.count()} timed rows are known" in said[1]


def _work(rows: DataFrame) -> CostAwareMap:
    return CostAwareMap.of(rows, doubled, SCHEMA, "arrow", "entity", 2)


def test_a_stream_gives_the_rows_of_plain_spark_and_remembers_costs(
    spark, entities, plain_rows, tmp_path
):
    entities.repartition(4).write.parquet(str(tmp_path / "in"))
    learned = tmp_path / "costs.json"
    out = str(tmp_path / "out")

    def run() -> PosgStream:
        stream = spark.readStream.schema(entities.schema).option("maxFilesPerTrigger", 2)
        mapped = unskew.mapInArrow(
            stream.parquet(str(tmp_path / "in")),
            doubled,
            SCHEMA,
            cost_key="entity",
            workers=3,
            scheme="posg",
            learned=learned,
        )
        # To a file: with Spark Connect the function runs in a process of the server.
        writer = mapped.foreachBatch(
            lambda result, number: result.write.mode("append").parquet(out)
        )
        writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()
        return mapped

    run()
    assert rows_of(spark.read.parquet(out)) == plain_rows
    found = CostPair.from_json(learned.read_text())
    assert found.rows > 0
    assert run().pair == found
    assert spark.read.parquet(out).count() == len(plain_rows)


def test_a_stream_that_nobody_reads_learns_nothing(entities, monkeypatch):
    monkeypatch.setattr(
        "unskew._spark.costs.cost_aware_map.observed", lambda observation, wait: None
    )
    stream = PosgStream(entities, _work(entities), None, print)
    stream.process(entities, 0, lambda result, number: None)
    assert not stream.pair.rows


def test_old_costs_fade_and_a_foreign_file_is_refused(entities, tmp_path: Path):
    stream = PosgStream(entities, _work(entities), None, print)
    key = np.array([1], dtype=np.uint64)
    for cost, rows in ((1.0, 70_000), (3.0, 70_000)):
        pair = CostPair(SHAPE)
        pair.add(np.repeat(key, rows), np.full(rows, cost))
        stream.learn(pair)
    assert 2.3 < stream.pair.estimate(key)[0] < 2.4  # (35,000 · 1 + 70,000 · 3) / 105,000
    wrong = tmp_path / "costs.json"
    for text in ("{}", CostPair(CostShape()).to_json()):
        wrong.write_text(text)
        with pytest.raises(InputError, match="delete it"):
            PosgStream(entities, _work(entities), wrong, print)
