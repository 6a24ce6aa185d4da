"""Joins give Spark's rows, each as often, whatever is split and copied."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import functions as F
from tests.effort import THOROUGH, few_jobs
from tests.spark.cases import assert_cases_agree
from tests.spark.frames import KEYS, awkward, awkward_rows, frame_of

import unskew
from unskew._spark.frames.physical_plan import physical_plan
from unskew.errors import KeyTypeError, NeedError, ParameterError, UnknownNameError
from unskew.testing import assert_same_result, one_hot_key

pytestmark = pytest.mark.spark

KINDS = ["inner", "left", "right", "full", "semi", "anti"]


@pytest.fixture(autouse=True)
def without_broadcasts(spark):
    """Frames this small would all be broadcast, and then there is nothing to plan."""
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    yield
    spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")


@pytest.fixture(scope="module")
def sides(spark):
    """Two frames: keys that only one of them has, and keys that are hot in one or in both."""
    left = awkward(spark, rows=90)
    right = awkward(spark, rows=60).withColumn(
        "word", F.expr("if(word = 'hot' and id % 2 = 0, 'hot on the right', word)")
    )
    left = left.where("word is null or word not in ('word 4', 'word 7')")
    right = right.withColumnRenamed("id", "other")
    return left.localCheckpoint(), right.localCheckpoint()


def ids(joined):
    """Which rows met, or met nobody."""
    return joined.select(
        *(name if name in joined.columns else F.lit(None).alias(name) for name in ("id", "other"))
    )


@pytest.mark.parametrize("how", KINDS)
def test_every_kind_of_join_and_type_of_key(sides, how):
    actual, expected = {}, {}
    for number, key in enumerate(KEYS):
        turn = number + KINDS.index(how)
        if number >= 2 and turn % 3 and not THOROUGH:
            continue  # Each type of key takes its turn with two kinds of join.
        name = "-".join(key)
        here, there = sides if turn % 2 else sides[::-1]
        there = there.select(there.columns[0], *key)
        expected[name] = ids(here.join(there, key, how))
        split = unskew.join(here, there, key, how, workers=3, scheme="planned-split")
        actual[f"{name}/split"] = ids(split)
        if how != "full":
            copied = unskew.join(here, there, key, how, workers=3, scheme="copy")
            actual[f"{name}/copied"] = ids(copied)
        if number < 2:
            scheme = ("kg", "routing-table")[number]
            actual[f"{name}/whole"] = ids(
                unskew.join(here, there, key, how, workers=3, scheme=scheme)
            )
    assert_cases_agree(actual, expected)


@few_jobs
@given(
    left=awkward_rows,
    right=awkward_rows,
    how=st.sampled_from(KINDS),
    scheme=st.sampled_from(["planned-split", "copy"]),
)
def test_any_rows_at_all(spark, left, right, how, scheme):
    here = frame_of(spark, left)
    there = frame_of(spark, right).withColumnRenamed("id", "other").select("other", "number")
    scheme = "planned-split" if how == "full" else scheme
    joined = unskew.join(here, there, "number", how, workers=4, scheme=scheme)
    assert_same_result(ids(joined), ids(here.join(there, "number", how)))


@pytest.mark.parametrize("how", ["full_outer", "leftouter", "left_anti"])
def test_columns_are_sparks(sides, how):
    left, right = sides
    right = right.withColumnRenamed("other", "id")
    actual = unskew.join(left, right, ["word", "part"], how, workers=3, scheme="planned-split")
    assert_same_result(actual, left.join(right, ["word", "part"], how))


@pytest.mark.smoke
def test_hot_keys_are_split_and_nulls_spread(spark):
    left = one_hot_key(spark, 2000, 40, share=0.6, nulls=0.3)
    right = one_hot_key(spark, 40, 40, share=0.0, seed=1).withColumnRenamed("value", "other")
    asked = {"workers": 4, "scheme": "planned-split"}
    plan = unskew.plan_join(left, right.drop("id"), "key", "left", **asked)
    assert "1 split on the left and 0 on the right" in plan.why
    joined = unskew.join(left, right.drop("id"), "key", "left", **asked)
    placed = joined.select("id", "key", F.spark_partition_id().alias("place")).collect()
    for hot, least in (("key-0", 2), (None, 4)):
        places = {row["place"] for row in placed if row["key"] == hot}
        assert len(places) >= least
    assert_level(placed)


def test_a_copied_side_levels_any_keys_even_rows_that_are_alike(spark):
    table = spark.range(3).select(F.lit("hot").alias("key"), F.col("id").alias("other"))
    scan = spark.range(0, 1001, 1, 5).select(F.lit("hot").alias("key"))
    assert_level(placed_by_copy(scan, table, "left"))
    shuffled = spark.range(2000).repartition(5, "id").withColumn("key", F.lit("hot"))
    assert_level(placed_by_copy(shuffled, table, "left"))
    assert_level(placed_by_copy(table, scan, "right"))


def placed_by_copy(left, right, how):
    joined = unskew.join(left, right, "key", how, workers=4, scheme="copy")
    return joined.select("key", F.spark_partition_id().alias("place")).collect()


def assert_level(placed):
    loads = [sum(row["place"] == place for row in placed) for place in range(4)]
    assert max(loads) <= 1.25 * sum(loads) / 4


def test_plain_spark_where_it_is_as_good(spark, sides, caplog):
    level = spark.range(1_000_000).withColumnRenamed("id", "key")
    with caplog.at_level("INFO", logger="unskew"):
        joined = unskew.join(level, level.withColumn("v", F.lit(1)), "key")
        assert "join by plain" in caplog.text
        other = unskew.join(
            sides[0], sides[1].withColumn("part", F.col("part").cast("bigint")), "part"
        )
        assert "types differ" in caplog.text
        shuffled = unskew.join(level.repartition(3, "key"), level, "key")
        assert "costly to compute" in caplog.text
        spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")
        broadcast = unskew.join(level, level.withColumn("v", F.lit(1)), "key")
        assert "broadcasts one side" in caplog.text
    for result in (joined, other, shuffled, broadcast):
        assert "shufflepartitionid" not in physical_plan(result)


def test_both_sides_are_shuffled_once(sides):
    for how in ("inner", "semi", "anti"):
        joined = unskew.join(*sides, "word", how, workers=3, scheme="kg")
        text = physical_plan(joined)
        assert text.count("Exchange shufflepartitionid") == 2
    assert "Exchange hashpartitioning" not in physical_plan(
        unskew.join(*sides, "word", "full", workers=3, scheme="kg")
    )


def test_empty_sides(sides):
    left, right = sides
    none = right.where("other < 0").select("other", "word")
    actual = {
        f"{how}/x": ids(unskew.join(left, none, "word", how, workers=3)) for how in KINDS[1:4]
    }
    expected = {how: ids(left.join(none, "word", how)) for how in KINDS[1:4]}
    assert_cases_agree(actual, expected)


def test_bad_requests_are_refused_before_any_job(sides):
    left, right = sides
    with pytest.raises(UnknownNameError, match="no join 'cross'"):
        unskew.join(left, right, "word", "cross")
    with pytest.raises(UnknownNameError, match="no column 'id'"):
        unskew.join(left, right, "id")
    with pytest.raises(NeedError, match="planned-split"):
        unskew.join(left, right, "word", scheme="pkg")
    with pytest.raises(NeedError, match="once for each worker"):
        unskew.join(left, right, "word", "full", scheme="copy")
    with pytest.raises(ParameterError, match="workers=0"):
        unskew.join(left, right, "word", workers=0)
    with pytest.raises(KeyTypeError, match="cast one side"):
        unskew.join(
            left, right.withColumn("part", F.col("part").cast("bigint")), "part", scheme="kg"
        )


@pytest.mark.classic("Spark Connect tells no sizes")
def test_a_small_join_whose_rows_meet_often_is_not_left_to_spark(spark, capsys):
    hot = spark.range(0, 30_000, 1, 4).select(
        F.when(F.col("id") % 2 == 0, "hot").otherwise(F.col("id").cast("string")).alias("key"), "id"
    )
    other = hot.withColumnRenamed("id", "other")
    # Copies for so many workers would take longer than the join of two small tables.
    plan = unskew.plan_join(hot, other, "key", workers=64)
    assert not plan.plain
    assert "keys counted" in plan.statistics
    unskew.explain(unskew.join(hot, other, "key", workers=64))
    assert "weighed" in capsys.readouterr().out
    few = unskew.plan_join(hot, other.where("key <> 'hot'"), "key", workers=64)
    assert few.plain
    assert "first 2,000 rows" in few.statistics


@pytest.mark.classic("Spark Connect tells no sizes")
def test_auto_gives_sparks_rows_by_the_way_it_takes(spark):
    table = spark.range(40).select(F.concat(F.lit("k"), "id").alias("key"), "id")
    rows = spark.range(0, 20_000, 1, 4).select(
        F.concat(F.lit("k"), F.floor(F.sqrt("id")).cast("string")).alias("key"),
        F.col("id").alias("other"),
    )
    for how in ("inner", "left", "semi", "anti"):
        plan = unskew.plan_join(rows, table, "key", how)
        assert plan.scheme == "copy right"
        assert_same_result(unskew.join(rows, table, "key", how), rows.join(table, "key", how))
    for how in ("right", "full"):
        assert_same_result(unskew.join(rows, table, "key", how), rows.join(table, "key", how))
