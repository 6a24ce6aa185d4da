"""Enriched documents are those of a plain map, whoever takes them."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F
from tests.spark.cases import assert_cases_agree

from unskew_lab.apps import enrich as app


def documents(spark, count: int):
    """One of 2,000 characters and some without text among short ones."""
    text = F.when(F.col("id") == 7, F.repeat(F.lit("word "), F.lit(400)))
    text = text.when(F.col("id") % 9 > 0, F.repeat(F.lit("a "), F.col("id").cast("int")))
    name = F.concat(F.lit("d"), F.col("id")).alias("document")
    return spark.range(0, count, 1, 3).select("id", name, text.alias("text"))


@pytest.mark.spark
def test_rows_are_those_of_a_plain_map(spark):
    rows = documents(spark, 60).drop("id")
    wanted = ("document", "words", "characters")
    plain = rows.mapInArrow(app.enrich, app.SCHEMA).select(*wanted)
    found = {f"rows/{each}": app.enriched(rows, each, 3) for each in app.APP.names}
    assert_cases_agree(
        {name: result.select(*wanted) for name, result in found.items()}, {"rows": plain}
    )


@pytest.mark.spark
def test_lost_rows_are_noticed(spark):
    rows = documents(spark, 50)
    plain = app.APP.reference(rows.drop("id"))
    answer = app.APP.run(rows.where("id > 0").drop("id"), "sg", 2)
    assert not app.APP.agrees(answer, plain)
    right = app.APP.run(rows.drop("id"), app.BY_COST, 2)
    assert app.APP.agrees(right, plain)
    characters = sum(row["characters"] for row in right.rows)
    assert right.loads.sum() == pytest.approx(app.SECONDS * characters)


def test_loads_are_those_of_slots_that_take_tasks_in_order():
    assert sorted(app._loads({0: 3.0, 1: 1.0, 4: 1.0, 2: 1.5}, workers=2)) == [3.0, 3.5]
