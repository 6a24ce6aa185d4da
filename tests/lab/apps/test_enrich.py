"""Enriched rows are those of a plain map, whoever takes them."""

from __future__ import annotations

import pytest
from tests.spark.cases import assert_cases_agree

from unskew.testing import skewed
from unskew_lab.apps import enrich as app


@pytest.mark.spark
def test_rows_are_those_of_a_plain_map(spark):
    rows = skewed(spark, rows=60, keys=20, exponent=0.8, nulls=0.1).selectExpr("key as entity")
    wanted = ("entity", "kind", "cost")
    plain = rows.mapInArrow(app.look_up, app.SCHEMA).select(*wanted)
    found = {f"rows/{each}": app.enriched(rows, each, 3) for each in ("posg", "sg", "kg")}
    assert_cases_agree(
        {name: result.select(*wanted) for name, result in found.items()}, {"rows": plain}
    )


@pytest.mark.spark
def test_lost_rows_are_noticed(spark):
    rows = skewed(spark, rows=50, keys=5).selectExpr("id", "key as entity")
    plain = app.APP.reference(rows)
    answer = app.APP.run(rows.where("id > 0"), "sg", 2)
    assert answer.loads.sum() == sum(row["rows"] * row["cost in ms"] for row in answer.rows)
    assert not app.APP.agrees(answer, plain)
    assert app.APP.agrees(app.APP.run(rows, "sg", 2), plain)


def test_entities_fall_into_three_kinds():
    kinds = [app.kind_of(f"entity {number}") for number in range(2_000)]
    assert 0.03 < kinds.count("politician") / 2_000 < 0.08
    assert 0.15 < kinds.count("media") / 2_000 < 0.25
    assert app.kind_of(None) in app.COSTS
