"""Which inputs can be read again at little cost."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from pyspark.sql import functions as F

from unskew._spark.frames.physical_plan import is_read_only
from unskew._spark.planning.input import Input

pytestmark = [pytest.mark.spark, pytest.mark.classic("Spark Connect names no RDDs")]

INPUTS = {
    "range": (True, lambda rows: rows.where("id > 3")),
    "cached": (True, lambda rows: rows.where("id > 1").cache().where("id > 3")),
    "cached behind a shuffle": (True, lambda rows: filled(rows.repartition(2)).where("id > 3")),
    "to be cached behind a shuffle": (False, lambda rows: rows.repartition(4).cache()),
    "to be cached behind Python": (
        False,
        lambda rows: rows.mapInArrow(lambda batches: batches, rows.schema).cache(),
    ),
    "checkpointed": (True, lambda rows: rows.repartition(2).localCheckpoint()),
    "checkpointed, filtered": (True, lambda rows: rows.localCheckpoint().where("id > 3")),
    "checkpointed before a shuffle": (False, lambda rows: rows.localCheckpoint().repartition(2)),
    "shuffled": (False, lambda rows: rows.repartition(3)),
    "aggregated": (False, lambda rows: rows.groupBy("key").count()),
    "Python": (False, lambda rows: rows.mapInArrow(lambda batches: batches, rows.schema)),
    "a text of several lines": (True, lambda rows: rows.withColumn("text", F.lit("a\nb\u2028c"))),
    "a name of several lines": (True, lambda rows: rows.withColumn("a\n+ b", F.col("id") + 1)),
    "a text of several lines, shuffled": (
        False,
        lambda rows: rows.withColumn("text", F.lit("a\nb")).repartition(3),
    ),
    "RDD": (
        False,
        lambda rows: rows.sparkSession.createDataFrame(rows.rdd.map(tuple), rows.schema),
    ),
}


def filled(rows):
    kept = rows.cache()
    kept.count()
    return kept


@pytest.mark.parametrize("name", INPUTS)
def test_what_is_kept_or_only_scanned_can_be_read_again(spark, name):
    cheap, made = INPUTS[name]
    rows = made(spark.range(0, 20, 1, 2).withColumn("key", F.col("id") % 3))
    assert is_read_only(rows) == cheap


def test_files_and_caches_tell_how_many_rows_they_have(spark, tmp_path):
    made = spark.range(0, 20_000, 1, 4).selectExpr("id", "string(id % 7) AS key")
    files = tmp_path / "some files"
    made.write.parquet(str(files))
    read = spark.read.parquet(str(files))
    found = Input.of(read.where("id > 3").select("key"))
    assert found.rows == pytest.approx(20_000, rel=0.1)
    assert found.repeats
    both = read.union(read)
    assert Input.of(both).rows == pytest.approx(40_000, rel=0.1)
    kept = read.cache()
    kept.count()
    assert Input.of(kept).rows == 20_000
    assert not Input.of(kept).repeats
    kept.unpersist()
    assert Input.of(spark.range(50)).rows == 50
    for file in files.glob("*.parquet"):
        file.write_bytes(b"")
    assert Input.of(read).rows is not None


def test_a_cache_that_nobody_has_filled_is_not_filled_to_look_at_it(spark, tmp_path):
    marks = str(tmp_path)

    def costly(batches):
        Path(marks, uuid.uuid4().hex).touch()
        yield from batches

    rows = spark.range(0, 20, 1, 2).mapInArrow(costly, "id bigint").groupBy("id").count().cache()
    found = Input.of(rows)
    assert not list(tmp_path.iterdir())
    assert not found.cheap
    rows.count()
    assert Input.of(rows).cheap
    rows.unpersist()
