"""Jobs of ours beside the user's never last, fail or hide anything."""

from __future__ import annotations

import time

import pytest

import unskew
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


def first_row(table):
    return table.slice(0, 1)


DEFINITIONS = {
    "a plan": lambda rows: unskew.plan(rows, "key", 3),
    "a plan by seconds": lambda rows: unskew.plan(rows, "key", seconds_per_row=0.1),
    "a scheme by frequencies": lambda rows: unskew.groupBy(
        rows, "key", scheme="routing-table"
    ).applyInArrow(first_row, rows.schema),
    "capacities": lambda rows: unskew.groupBy(
        rows, "key", workers=2, capacities=[1, 2]
    ).applyInArrow(first_row, rows.schema),
    "a pilot": lambda rows: unskew.groupBy(rows, "key").applyInArrow(first_row, rows.schema),
    "a merge": lambda rows: unskew.groupBy(rows, "key").applyInArrow(
        first_row, rows.schema, merge=first_row
    ),
    "an aggregate": lambda rows: unskew.groupBy(rows, "key").agg(most=unskew.top_k("id", 1)),
    "a cogroup": lambda rows: (
        unskew.groupBy(rows, "key")
        .cogroup(unskew.groupBy(rows, "key"))
        .applyInArrow(lambda left, right: left, rows.schema)
    ),
    "a cogroup by frequencies": lambda rows: (
        unskew.groupBy(rows, "key", scheme="routing-table")
        .cogroup(unskew.groupBy(rows, "key"))
        .applyInArrow(lambda left, right: left, rows.schema)
    ),
    "a join by frequencies": lambda rows: unskew.join(
        rows, rows.select("key"), "key", scheme="planned-split"
    ),
    "a repartition": lambda rows: unskew.repartition(rows, "key", 2),
    "a map by cost": lambda rows: unskew.mapInArrow(
        rows, lambda batches: batches, rows.schema, cost="id", scheme="heavy-first"
    ),
}


@pytest.mark.classic("Spark Connect describes jobs itself")
@pytest.mark.parametrize("name", DEFINITIONS)
def test_what_runs_when_a_verb_is_called_says_that_it_is_ours(spark, name):
    rows = spark.range(0, 600, 1, 2).selectExpr("if(id % 3 = 0, 0, id % 20) key", "id")
    store = spark.sparkContext._jsc.sc().statusStore()

    def descriptions():
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
        jobs = store.jobsList(None)
        found = (jobs.apply(place) for place in range(jobs.size()))
        return {job.jobId(): job.description() for job in found}

    before = descriptions()
    DEFINITIONS[name](rows)
    after = descriptions()
    told = [after[job] for job in after.keys() - before.keys()]
    assert told
    assert all(each.isDefined() and each.get().startswith("unskew: ") for each in told)
