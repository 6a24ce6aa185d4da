"""Jobs of ours beside the user's never last, fail or hide anything."""

from __future__ import annotations

import time

import pytest

from unskew._spark.frames.files import is_connect
from unskew._spark.planning.side_jobs import beside

pytestmark = pytest.mark.spark


def test_a_job_that_takes_too_long_is_cancelled(spark):
    def slow(batches):
        time.sleep(30)
        yield from batches

    rows = spark.range(2).mapInArrow(slow, "id bigint")
    assert beside(spark, "a slow job", 0.5, rows.collect) is None
    assert beside(spark, "a quick job", 60, spark.range(3).count) == 3


def test_a_job_that_fails_gives_nothing_and_leaves_nothing_behind(spark):
    def fail():
        raise ValueError("no such thing")

    assert beside(spark, "a failing job", 60, fail) is None
    if not is_connect(spark):
        assert spark.sparkContext.getLocalProperty("spark.job.description") is None
        assert spark.sparkContext.getLocalProperty("spark.jobGroup.id") is None
