"""Joins that remember the keys that they counted, from run to run."""

from __future__ import annotations

import re

import pytest
from pyspark.sql import functions as F

import unskew
from unskew._spark.planning import join_decision, side_jobs
from unskew._spark.planning import memory as memory_module
from unskew._spark.planning.side_jobs import BUDGET
from unskew.errors import ParameterTypeError
from unskew.testing import assert_same_result

pytestmark = [pytest.mark.spark, pytest.mark.classic("Spark Connect tells no sizes")]

AN_EARLIER_RUN = "an earlier run, of each side"
COSTLY = 0.01
"""Seconds of a row of the result: balance pays, and keys are counted."""


@pytest.fixture(autouse=True)
def without_broadcasts(spark):
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    yield
    spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")


@pytest.fixture
def folder(tmp_path):
    memory_module.warn_once.cache_clear()
    memory_module._note_once.cache_clear()
    unskew.remember(tmp_path / "memory")
    yield tmp_path / "memory"
    unskew.remember(None)


@pytest.fixture
def always_counted(monkeypatch):
    """As if no size settled a join."""
    monkeypatch.setattr(join_decision, "settled", lambda *_: None)


def sides(spark, hot=77.0, rows=600):
    """A hot key, nulls, NaN, both zeros, and others; some that only one side has."""

    def keyed(count, keys, name):
        key = (
            F.when(F.col("id") % 3 == 0, hot)
            .when(F.col("id") % 5 == 0, None)
            .when(F.col("id") % 7 == 0, float("nan"))
            .when(F.col("id") % 11 == 0, -0.0)
            .otherwise((F.col("id") % keys).cast("double"))
        )
        return spark.range(0, count, 1, 3).select(key.alias("key"), F.col("id").alias(name))

    return keyed(rows, 40, "here"), keyed(60, 50, "there")


def joined(left, right, how="full", key="key", **given):
    given = {"workers": 3, "seconds_per_row": COSTLY, "name": "nightly"} | given
    return unskew.join(left, right, key, how, **given)


def statistics(result):
    return unskew.plan_of(result).statistics


@pytest.mark.usefixtures("always_counted")
@pytest.mark.parametrize("how", ["full", "inner", "left", "semi"])
def test_the_next_runs_need_no_pass_and_give_sparks_rows(spark, folder, how, monkeypatch):
    left, right = sides(spark)
    first = joined(left, right, how)
    assert "keys counted" in statistics(first)
    assert_same_result(first, left.join(right, "key", how))
    monkeypatch.setattr(side_jobs, "_named", None)  # Whatever runs beside a job would fail now.
    second = joined(left, right, how)
    assert unskew.plan_of(second).scheme == unskew.plan_of(first).scheme
    assert_same_result(second, left.join(right, "key", how))
    # As large as before, with another hot key.
    left, right = sides(spark, hot=13.0)
    third = joined(left, right, how)
    assert_same_result(third, left.join(right, "key", how))
    assert statistics(second) == statistics(third) == AN_EARLIER_RUN


def test_hot_keys_of_an_earlier_run_are_split(spark, folder, capsys):
    left, right = sides(spark)
    assert unskew.plan_of(joined(left, right)).scheme == "planned-split"
    second = joined(left, right)
    assert unskew.plan_of(second).scheme == "planned-split"
    unskew.explain(second)
    shown = capsys.readouterr().out
    assert f"measured  by {AN_EARLIER_RUN}" in shown
    assert re.search(r"\n +77\.0: ", shown)
    places = second.where("key = 77").select(F.spark_partition_id()).distinct()
    assert places.count() > 1


def test_the_next_run_starts_no_job_before_the_action(spark, folder):
    left, right = sides(spark)
    scheduler = spark.sparkContext._jsc.sc().dagScheduler()
    started = []
    for _ in range(2):
        before = scheduler.numTotalJobs()
        made = unskew.join(left, right, "key", "full", workers=3, seconds_per_row=COSTLY)
        started.append(scheduler.numTotalJobs() - before)
        made.collect()
    assert started[0] > 0
    assert started[1] == 0


def test_first_rows_that_told_enough_are_not_read_again(spark, folder, monkeypatch):
    left = spark.range(0, 30_000, 1, 4).select(F.col("id").alias("key"), "id")
    right = left.select("key", F.col("id").alias("other"))
    first, second = [], []
    for found in (first, second):
        plan = unskew.plan_join(left, right, "key", workers=64)
        assert plan.plain
        found.append(plan.statistics)
        monkeypatch.setattr(side_jobs, "_named", None)
    assert first[0].endswith("the first 2,000 rows")
    assert second[0].endswith("the first 2,000 rows of an earlier run")


def test_what_is_remembered_needs_no_budget(spark, folder):
    left, right = sides(spark)
    joined(left, right)
    given = spark.conf.get(BUDGET)
    spark.conf.set(BUDGET, "0")
    try:
        assert statistics(joined(left, right)) == AN_EARLIER_RUN
        assert unskew.plan_of(joined(left, right, name="other")).plain
    finally:
        spark.conf.set(BUDGET, given)


def test_a_side_that_has_grown_is_counted_anew(spark, folder, caplog):
    caplog.set_level("INFO", "unskew")
    joined(*sides(spark))
    left, right = sides(spark, hot=13.0, rows=900)
    made = joined(left, right)
    assert "keys counted" in statistics(made)
    assert "the left side has about 900 rows, and had 600" in caplog.text
    assert_same_result(made, left.join(right, "key", "full"))
    # All that drifted is told, and not trusted: the next run counts again.
    assert "of the work was with other keys than in the run before" in caplog.text
    assert "keys counted" in statistics(joined(left, right))
    assert statistics(joined(left, right)) == AN_EARLIER_RUN


@pytest.mark.usefixtures("always_counted")
def test_other_joins_are_not_taken_for_this_one(spark, folder, caplog):
    caplog.set_level("INFO", "unskew")
    left, right = sides(spark)
    joined(left, right)
    casts = [each.withColumn("key", F.col("key").cast("string")) for each in (left, right)]
    same = [each.withColumn("twin", F.col("key")) for each in (left, right)]
    changed = "has changed since its recorded run"
    for told, run in (
        (True, lambda: joined(left, right, "inner")),
        (True, lambda: joined(*casts)),
        (True, lambda: joined(*same, key=["key", "twin"])),
        (False, lambda: joined(left, right, name="hourly")),
        (False, lambda: joined(left, right, name=None)),
    ):
        joined(left, right)
        caplog.clear()
        memory_module._note_once.cache_clear()
        assert statistics(run()) != AN_EARLIER_RUN
        assert any(changed in line for line in caplog.messages) == told


@pytest.mark.usefixtures("always_counted")
def test_joins_of_one_function_are_told_apart_by_their_columns(spark, folder):
    left, right = sides(spark)
    for statistics_of in ("keys counted", "an earlier run"):
        for how, wide in (
            ("inner", left),
            ("inner", left.withColumn("v", F.lit(1))),
            ("left", left),
        ):
            assert statistics_of in statistics(joined(wide, right, how, name=None))
    assert len(list(folder.iterdir())) == 3


@pytest.mark.parametrize("harm", [b"", b"PAR1 something else", b"\0" * (1 << 21)])
def test_a_damaged_file_is_ignored_with_a_warning(spark, folder, caplog, harm):
    left, right = sides(spark)
    joined(left, right)
    (file,) = folder.glob("*/join")
    file.write_bytes(harm)
    made = joined(left, right)
    assert "keys counted" in statistics(made)
    assert f"ignored a damaged file: {file}" in caplog.text
    assert_same_result(made, left.join(right, "key", "full"))
    assert statistics(joined(left, right)) == AN_EARLIER_RUN


@pytest.mark.parametrize(
    "asked", [{"scheme": "planned-split"}, {"scheme": "kg"}, {"capacities": [1.0, 2.0, 1.0]}]
)
def test_what_nobody_recalls_is_not_kept(spark, folder, asked):
    joined(*sides(spark), **asked)
    assert not folder.exists()


def test_a_name_is_a_name(spark):
    for verb in (unskew.join, unskew.plan_join):
        with pytest.raises(ParameterTypeError, match="name"):
            verb(*sides(spark), "key", name="")
