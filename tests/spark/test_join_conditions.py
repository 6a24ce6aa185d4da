"""Joins by equalities between the sides: rows and columns are Spark's, for every kind of join."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F
from tests.spark.cases import assert_cases_agree
from tests.spark.frames import awkward
from tests.spark.test_joining import KINDS, without_broadcasts  # noqa: F401  (a fixture)

import unskew
from unskew.errors import KeyTypeError, ParameterError
from unskew.testing import assert_same_result

pytestmark = pytest.mark.spark
NAMED = pytest.mark.classic("Spark Connect finds columns of a right or full join by name only")

SCHEMES = ["planned-split", "kg", "copy"]


@pytest.fixture(scope="module")
def sides(spark):
    """Two frames whose keys have different names, and that share a name beside them."""
    left = awkward(spark, rows=60).select("id", "word", "number", "part")
    right = awkward(spark, rows=40).where("word is null or word <> 'word 4'")
    right = right.select("id", F.col("word").alias("name"), F.col("part").alias("piece"), "number")
    return left.localCheckpoint(), right.localCheckpoint()


def by_position(rows):
    return rows.toDF(*(f"c{place}" for place in range(len(rows.columns))))


@pytest.mark.parametrize("how", KINDS)
def test_every_kind_of_join(sides, how):
    left, right = sides
    on = {
        "one": left.word == right.name,
        "turned": right["name"] == left["word"],
        "both": (left.word == right.name) & (left.part == right.piece),
        "list": [left.word == right.name, left.part == right.piece],
        "same name": left.number == right.number,
        "expression": F.upper(left.word) == F.upper(right.name),
    }
    expected = {name: by_position(left.join(right, each, how)) for name, each in on.items()}
    actual = {
        f"{name}/{scheme}": by_position(
            unskew.join(left, right, each, how, workers=3, scheme=scheme)
        )
        for place, (name, each) in enumerate(on.items())
        for scheme in SCHEMES[place % 2 :]
        if (how, scheme) != ("full", "copy")
    }
    assert_cases_agree(actual, expected)


@pytest.mark.parametrize(
    "how", [pytest.param(how, marks=NAMED if how in ("right", "full") else ()) for how in KINDS]
)
def test_columns_are_sparks_and_both_sides_can_be_named(sides, how):
    left, right = sides
    joined = unskew.join(left, right, left.word == right.name, how, workers=3, scheme=SCHEMES[0])
    assert joined.columns == left.join(right, left.word == right.name, how).columns
    if how not in ("semi", "anti"):
        expected = left.join(right, left.word == right.name, how).select(left.id, right.name)
        assert_same_result(joined.select(left.id, right.name), expected)


@pytest.mark.parametrize("how", KINDS)
def test_a_frame_joined_to_itself(sides, how):
    here, there = sides[0].alias("a"), sides[0].alias("b")
    on = F.col("a.id") == F.col("b.part").cast("bigint")
    joined = unskew.join(here, there, on, how, workers=3, scheme="planned-split")
    assert_same_result(by_position(joined), by_position(here.join(there, on, how)))


def test_aliases_name_the_columns_of_a_self_join(sides):
    here, there = sides[0].alias("a"), sides[0].alias("b")
    on = F.col("a.word") == F.col("b.word")
    joined = unskew.join(here, there, on, workers=3, scheme="planned-split")
    expected = here.join(there, on).select("a.id", F.col("b.id").alias("other"))
    assert_same_result(joined.select("a.id", F.col("b.id").alias("other")), expected)


def test_a_side_with_one_name_twice(sides):
    left, right = sides
    twice = right.select("*", F.col("id").alias("piece"))
    for on in (left.word == right.name, [left.word == right.name, left.number == right.number]):
        joined = unskew.join(left, twice, on, "full", workers=3, scheme="planned-split")
        expected = left.join(twice, on, "full")
        assert joined.columns == expected.columns
        assert_same_result(by_position(joined), by_position(expected))


def test_other_conditions_are_left_to_spark_with_a_reason(sides, caplog):
    left, right = sides
    others = [
        (left.word == right.name) & (left.id < right.id),
        left.id < right.id,
        left.word.eqNullSafe(right.name),
        left.word == "hot",
        left.word == left.word,
    ]
    for on in others:
        made = unskew.plan_join(left, right, on)
        assert made.plain
        assert "not one of equalities between the sides" in made.why
        with pytest.raises(ParameterError, match="filter the result"):
            unskew.join(left, right, on, scheme="kg")
    joined = unskew.join(left, right, others[0], "left")
    assert_same_result(by_position(joined), by_position(left.join(right, others[0], "left")))


def test_bad_conditions_are_refused_before_any_job(sides):
    left, right = sides
    for on in ([left.word == right.name, "number"], [], 3):
        with pytest.raises(ParameterError, match=r"left\.id == right\.user"):
            unskew.join(left, right, on)
    with pytest.raises(KeyTypeError, match="cast one side"):
        unskew.join(left, right, left.id == right.piece, scheme="kg")
