"""Group functions see the groups that plain Spark makes, whatever the scheme and the key's type."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from tests.effort import THOROUGH, few_jobs
from tests.spark.cases import assert_cases_agree
from tests.spark.frames import KEYS, awkward, awkward_rows, frame_of
from tests.spark.groups import (
    SCHEMA,
    ids,
    ids_by_batch,
    ids_in_pandas,
    ids_in_pandas_by_batch,
    ids_with_key,
    joined,
    joined_in_pandas,
)

import unskew
from unskew._spark.frames.physical_plan import physical_plan
from unskew.testing import assert_same_result

pytestmark = pytest.mark.spark

WHOLE = ["kg", "ring", "routing-table", "auto"]
MERGEABLE = ["planned-split", "pkg", "d-choices", "auto"]


def cases(schemes):
    """Every type of key, and every scheme with some types; with all of them when thorough."""
    for number, key in enumerate(KEYS):
        for scheme in schemes if THOROUGH else [schemes[number % len(schemes)]]:
            yield f"{'-'.join(key)}/{scheme}", key, scheme


@pytest.fixture(scope="module")
def frame(spark):
    return awkward(spark, rows=90).localCheckpoint()


@pytest.fixture
def without_fused_unions(spark):
    """Spark 4.3 asks a cogroup inside a fused union for rows after its end, and fails."""
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    yield
    spark.conf.unset("spark.sql.codegen.wholeStage")


def plain(rows, keys=KEYS):
    return {"-".join(key): rows.groupBy(*key).applyInArrow(ids, SCHEMA) for key in keys}


def test_whole_keys_of_every_type_and_scheme(frame):
    actual = {
        name: unskew.groupBy(frame, *key, workers=3, scheme=scheme).applyInArrow(ids, SCHEMA)
        for name, key, scheme in cases(WHOLE)
    }
    assert_cases_agree(actual, plain(frame))


def test_parts_of_keys_of_every_type_are_merged(frame):
    actual = {
        name: unskew.groupBy(frame, *key, workers=3, scheme=scheme).applyInArrow(
            ids, SCHEMA, merge=joined
        )
        for name, key, scheme in cases(MERGEABLE)
    }
    assert_cases_agree(actual, plain(frame))


@few_jobs
@given(rows=awkward_rows)
@pytest.mark.usefixtures("without_fused_unions")
def test_any_rows_at_all(spark, rows):
    made = frame_of(spark, rows)
    actual = {}
    for key in (["number", "pair"],):
        name = "-".join(key)
        grouped = unskew.groupBy(made, key, workers=4, scheme="planned-split")
        actual[f"{name}/merged"] = grouped.applyInArrow(ids, SCHEMA, merge=joined)
        whole = unskew.groupBy(made, *key, workers=4, scheme="routing-table")
        actual[f"{name}/whole"] = whole.applyInArrow(ids, SCHEMA)
        both = whole.cogroup(unskew.groupBy(made, *key))
        actual[f"{name}/cogroup"] = both.applyInArrow(lambda left, right: ids(left), SCHEMA)
    assert_cases_agree(actual, plain(made, [["number", "pair"]]))


def test_every_form_of_function(frame):
    key = "number"
    grouped = unskew.groupBy(frame, key, workers=3, scheme="planned-split")
    whole = unskew.groupBy(frame, key, workers=3, scheme="kg")
    actual = {
        "number/key": whole.applyInArrow(ids_with_key, SCHEMA),
        "number/batches": whole.applyInArrow(ids_by_batch, SCHEMA),
        "number/pandas": whole.applyInPandas(ids_in_pandas, SCHEMA),
        "number/pandas batches": whole.applyInPandas(ids_in_pandas_by_batch, SCHEMA),
        "number/key merged": grouped.applyInArrow(ids_with_key, SCHEMA, merge=joined),
        "number/batches merged": grouped.applyInArrow(ids_by_batch, SCHEMA, merge=joined),
        "number/pandas merged": grouped.applyInPandas(
            ids_in_pandas, SCHEMA, merge=joined_in_pandas
        ),
        "number/pandas batches merged": grouped.applyInPandas(
            ids_in_pandas_by_batch, SCHEMA, merge=joined_in_pandas
        ),
    }
    assert_cases_agree(actual, plain(frame, [["number"]]))


@pytest.mark.parametrize("key", [["word"], ["money", "part"], ["blob"]], ids="-".join)
def test_pandas_merges_keys_that_it_would_garble(frame, key):
    grouped = unskew.groupBy(frame, *key, workers=3, scheme="pkg")
    actual = grouped.applyInPandas(ids_in_pandas, SCHEMA, merge=joined_in_pandas)
    assert_same_result(actual, frame.groupBy(*key).applyInArrow(ids, SCHEMA))


def test_the_function_sees_its_key_and_its_columns_and_nothing_else(frame):
    def look(key: tuple, table: pa.Table) -> pa.Table:
        assert len(key) == 2
        return pa.table({"names": [table.column_names]})

    def look_in_pandas(key, rows: pd.DataFrame) -> pd.DataFrame:
        assert len(key) == 2
        return pd.DataFrame({"names": [list(rows.columns)]})

    grouped = unskew.groupBy(frame, "word", "part", workers=3, scheme="kg")
    for result in (
        grouped.applyInArrow(look, "names array<string>"),
        grouped.applyInPandas(look_in_pandas, "names array<string>"),
    ):
        assert {tuple(row[0]) for row in result.collect()} == {tuple(frame.columns)}


@pytest.mark.usefixtures("without_fused_unions")
def test_cogroups_of_every_type_and_scheme(frame):
    other = frame.where("id % 3 <> 1").selectExpr("id + 1000 id", *frame.columns[1:])

    def pairs(left: pa.Table, right: pa.Table) -> pa.Table:
        both = sorted(left["id"].to_pylist()) + sorted(right["id"].to_pylist())
        return pa.table({"ids": pa.array([both], pa.list_(pa.int64()))})

    expected = {
        "-".join(key): frame.groupBy(*key).cogroup(other.groupBy(*key)).applyInArrow(pairs, SCHEMA)
        for key in KEYS
    }
    actual = {}
    for number, key in enumerate(KEYS):
        scheme = ("kg", "routing-table", "auto")[number % 3]
        grouped = unskew.groupBy(frame, *key, workers=3, scheme=scheme)
        both = grouped.cogroup(unskew.groupBy(other, *key))
        actual[f"{'-'.join(key)}/{scheme}"] = both.applyInArrow(pairs, SCHEMA)
    assert_cases_agree(actual, expected)


def test_cogroup_in_pandas_with_keys_of_other_names(frame):
    other = frame.withColumnRenamed("word", "term")
    names = other.columns

    def sizes(key, left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
        assert "word" in left.columns
        assert list(right.columns) == names
        return pd.DataFrame({"key": [key[0]], "left": [len(left)], "right": [len(right)]})

    schema = "key string, left bigint, right bigint"
    both = unskew.groupBy(frame, "word", workers=3, scheme="routing-table").cogroup(
        unskew.groupBy(other, "term")
    )
    plain_both = frame.groupBy("word").cogroup(other.groupBy("term"))
    assert_same_result(both.applyInPandas(sizes, schema), plain_both.applyInPandas(sizes, schema))


@pytest.mark.parametrize("workers", [1, 60])
def test_one_worker_and_more_workers_than_keys(frame, workers):
    few = frame.limit(20)
    grouped = unskew.groupBy(few, "part", workers=workers, scheme="planned-split")
    actual = grouped.applyInArrow(ids, SCHEMA, merge=joined)
    assert_same_result(actual, few.groupBy("part").applyInArrow(ids, SCHEMA))


def test_no_rows_at_all(frame):
    none = frame.where("id < 0")
    grouped = unskew.groupBy(none, "word", workers=3)
    actual = {
        "word/whole": grouped.applyInArrow(ids, SCHEMA),
        "word/merged": grouped.applyInArrow(ids, SCHEMA, merge=joined),
        "word/cogroup": grouped.cogroup(grouped).applyInArrow(lambda a, b: ids(a), SCHEMA),
    }
    assert_cases_agree(actual, plain(none, [["word"]]))


def test_rows_are_shuffled_once_before_the_function(frame):
    placed = unskew.groupBy(frame, "word", workers=3, scheme="kg").applyInArrow(ids, SCHEMA)
    text = physical_plan(placed)
    assert text.count("Exchange shufflepartitionid") == 1
    assert "hashpartitioning" not in text


def test_keys_that_stay_whole_are_merged_in_one_step(spark):
    level = spark.range(16_000).selectExpr("id % 8000 key")
    grouped = unskew.groupBy(level, "key", workers=4, scheme="kg")

    def size(table: pa.Table) -> pa.Table:
        return pa.table({"n": pa.array([table.num_rows], pa.int64())})

    def ten_times(table: pa.Table) -> pa.Table:
        return pa.table({"n": pc.multiply(table["n"], 10)})

    merged = grouped.applyInArrow(size, "n bigint", merge=ten_times)
    assert physical_plan(merged).count("MapInArrow") == 1
    assert merged.where("n <> 20").count() == 0


def test_a_batch_function_need_not_hold_its_group(spark):
    def largest_batch(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"n": [max(batch.num_rows for batch in batches)]})

    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "100")
    try:
        hot = spark.range(1000).selectExpr("1 key", "id")
        grouped = unskew.groupBy(hot, "key", workers=2, scheme="kg")
        assert grouped.applyInArrow(largest_batch, "n bigint").first()[0] <= 100
    finally:
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")


@pytest.mark.smoke
def test_merging_really_splits_the_hot_key(spark):
    hot = spark.range(3000).selectExpr("if(id % 10 < 9, 0, id) key", "id")

    def part(table: pa.Table) -> pa.Table:
        return pa.table({"largest": [table.num_rows]})

    def largest(table: pa.Table) -> pa.Table:
        return pa.table({"largest": pa.array([pc.max(table["largest"]).as_py()], pa.int64())})

    grouped = unskew.groupBy(hot, "key", workers=4, scheme="planned-split")
    result = grouped.applyInArrow(part, "largest bigint", merge=largest)
    assert max(row[0] for row in result.collect()) <= 1.1 * 3000 / 4
