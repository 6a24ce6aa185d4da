"""Jobs of ours beside the user's never last, fail or hide anything."""

from __future__ import annotations

import time

import pytest

from unskew._spark.planning import side_jobs
from unskew._spark.planning.side_jobs import BUDGET, Allowance, beside, budget
from unskew.errors import ParameterError

pytestmark = pytest.mark.spark


def test_a_job_that_takes_too_long_is_cancelled(spark):
    def slow(batches):
        time.sleep(30)
        yield from batches

    rows = spark.range(2).mapInArrow(slow, "id bigint")
    assert beside(spark, "a slow job", 0.5, rows.collect) is None  # The first has longer.
    late = [spark]
    assert beside(spark, "a slow job", 0.5, rows.collect, late) is late
    assert beside(spark, "a quick job", 60, spark.range(3).count) == 3


def test_a_job_gets_a_second_or_a_share_of_the_users_job_or_what_is_set(spark):
    given = spark.conf.get(BUDGET)
    try:
        spark.conf.unset(BUDGET)
        assert (budget(spark), budget(spark, 10), budget(spark, 100)) == (1, 1, 3)
        spark.conf.set(BUDGET, "0.5")
        assert (budget(spark), budget(spark, 100)) == (0.5, 0.5)
        for wrong in ("-1", "much", "inf", "nan"):
            spark.conf.set(BUDGET, wrong)
            with pytest.raises(ParameterError, match=f"{BUDGET}={wrong} is not a time; set it"):
                budget(spark)
    finally:
        spark.conf.set(BUDGET, given)


def test_a_job_that_fails_gives_nothing(spark):
    def fail():
        raise ValueError("no such thing")

    assert beside(spark, "a failing job", 60, fail, "late") is None


def test_jobs_beside_one_job_share_its_allowance(spark, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(side_jobs.time, "monotonic", lambda: clock[0])
    monkeypatch.setitem(side_jobs._started, spark, {"a second"})

    def takes(seconds):
        clock[0] += seconds
        return seconds

    given = spark.conf.get(BUDGET)
    try:
        spark.conf.set(BUDGET, "10")
        allowance = Allowance(spark)
        # Three seconds of the first of a kind are not counted.
        assert allowance.beside("a first", 10, lambda: takes(4.0)) == 4.0
        assert allowance.left() == 9.0
        assert allowance.beside("a second", 9, lambda: takes(20.0)) == 20.0
        assert allowance.left() == allowance.left(1000) == 0.0
    finally:
        spark.conf.set(BUDGET, given)


def test_without_an_allowance_nothing_runs(spark):
    assert beside(spark, "a first of its kind", 0.0, lambda: 1 / 0, "late") is None


@pytest.mark.classic("Spark Connect has no job groups")
def test_the_users_own_job_group_stays(spark):
    context = spark.sparkContext

    def group():
        names = "spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel"
        return [context.getLocalProperty(name) for name in names]

    context.setJobGroup("nightly", "my own words")
    try:
        before = group()
        assert beside(spark, "a look", 60, group)[1] == "unskew: a look"
        assert group() == before
    finally:
        context._jsc.clearJobGroup()
    before = group()
    assert beside(spark, "a look", 60, group) != before
    assert group() == before
