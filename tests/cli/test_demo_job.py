"""The demo's job gives the same rows however it is run."""

from __future__ import annotations

import pytest

from unskew.cli import demo_job as job
from unskew.errors import UnknownNameError
from unskew.testing import assert_same_result, skewed


@pytest.mark.spark
def test_every_contestant_gives_the_same_rows(spark, monkeypatch):
    monkeypatch.setattr(job, "SLOTS", 3)
    rows = skewed(spark, rows=600, keys=20, exponent=1.5, nulls=0.1).select("key", "value")
    expected = rows.groupBy("key").agg({"value": "max", "*": "count"})
    expected = expected.selectExpr("key", "`count(1)` as rows", "`max(value)` as highest")
    for contestant in job.CONTESTANTS:
        assert_same_result(contestant.run(rows), expected)


def test_an_unknown_data_set_is_named():
    with pytest.raises(UnknownNameError, match="did you mean 'flights'"):
        job.data_named("fligths")


@pytest.mark.spark
def test_flights_are_skewed_real_rows(spark):
    rows = job.flights(spark)
    carriers = {row["key"]: row["count"] for row in rows.groupBy("key").count().collect()}
    assert len(carriers) == 16
    assert sum(carriers.values()) == 112_259
    assert max(carriers, key=carriers.get) == "UA"
