"""Jobs of ours beside the user's never last, fail or hide anything."""

from __future__ import annotations

import time

import pytest

from unskew._spark.planning.side_jobs import BUDGET, beside, budget
from unskew.errors import ParameterError

pytestmark = pytest.mark.spark


def test_a_job_that_takes_too_long_is_cancelled(spark):
    def slow(batches):
        time.sleep(30)
        yield from batches

    rows = spark.range(2).mapInArrow(slow, "id bigint")
    for _ in range(2):  # The first of its kind has longer.
        assert beside(spark, "a slow job", 0.5, rows.collect) is None
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

    assert beside(spark, "a failing job", 60, fail) is None


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
