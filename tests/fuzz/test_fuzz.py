"""A small seeded part of the fuzzer, and what it promises: nothing public is left out."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from pyspark.sql import Column
from tests.effort import THOROUGH
from tests.fuzz.arguments import drawable, undrawn
from tests.fuzz.cases import draw_case
from tests.fuzz.keys import COMPUTED
from tests.fuzz.reduction import reduced
from tests.fuzz.refusals import REASONS, reason_of
from tests.fuzz.report import Report, script
from tests.fuzz.run import fuzz
from tests.fuzz.running import Outcome, run_case
from tests.fuzz.verbs import takes, ways

import unskew
from unskew import aggregates, partitioners
from unskew.errors import NeedError, ParameterError

MANY = [draw_case(1, number) for number in range(1000)]


def test_every_way_is_drawn():
    assert [way.name for way in ways() if not drawable(way)] == []
    assert {way.name for way in ways()} == {case.way for case in MANY}
    verbs = {"groupBy", "join", "mapInArrow", "mapInPandas", "plan", "repartition"}
    assert verbs <= {way.calls[0][0] for way in ways()} <= set(unskew.__all__)


def test_every_aggregate_and_scheme_is_drawn():
    text = "\n".join(case.ours for case in MANY)
    assert [name for name in aggregates.ALL if f"unskew.{name}(" not in text] == []
    assert [name for name in partitioners.ALL if f"scheme='{name}'" not in text] == []


def test_a_case_is_its_seed_and_number():
    assert draw_case(1, 5) == MANY[5] != draw_case(2, 5)
    # Also in a process in which sets have another order.
    program = "from tests.fuzz.test_fuzz import MANY; print(MANY)"
    found = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONHASHSEED": "7"}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert found.stdout == f"{MANY}\n"


def test_scripts_are_programs():
    for case in MANY[:100]:
        ast.parse(script(case))


def test_a_case_is_reduced_to_what_fails():
    case = next(each for each in MANY if each.left.rows > 8 and each.settings)
    wanted = case.left.fields[case.left.keys].values[5]

    def run(tried):
        seen = wanted in tried.left.fields[tried.left.keys].values
        return Outcome("wrong", "rows") if seen else Outcome("equal")

    small, _ = reduced(case, Outcome("wrong", "rows"), run, tries=200)
    assert small.left.rows <= 2
    assert (small.settings, small.follow_up, small.source) == ((), "nothing", "literals")


def test_a_report_can_be_taken_up_again():
    report = Report(seed=1)
    for case, verdict in zip(MANY, ["equal", "wrong", "refused", "both fail"], strict=False):
        report.add(case, Outcome(verdict, "why"))
    assert Report.from_json(report.to_json()).to_json() == report.to_json()


def test_every_parameter_is_drawn_or_left_out_on_purpose():
    """A parameter that is added later fails here until it has a recipe."""
    of_no_matter = {"learned", "say"}  # Where a map keeps what it learns, and whom it tells.
    assert undrawn() == of_no_matter


def test_keys_are_given_in_every_form_where_a_verb_takes_columns():
    verbs = [way.name for way in ways() if takes(way.calls[0][1], "keys", Column)]
    assert verbs
    assert {case.way for case in MANY if " for key in keys" in case.plain} == set(verbs)
    grouped = [case.plain for case in MANY if case.way in verbs]
    for form in (*(each.format(rows="left") for each in COMPUTED), "groupBy([", "groupBy()"):
        assert any(form in text for text in grouped), form


def test_refusals_have_a_documented_reason():
    assert reason_of(NeedError("pkg does not guarantee whole-key")) in REASONS
    assert reason_of(ParameterError("something else")) is None


on_classic_spark = pytest.mark.classic("uses SparkContext")


@pytest.mark.spark
@on_classic_spark
def test_groups_are_compared_also_where_pyspark_cannot_find_their_columns(spark):
    plain = next(
        case
        for case in MANY
        if case.way == "groupBy.applyInArrow"
        and {kind for kind, _ in case.traits} <= {"verbs", "data"}
        and "groupBy(*map" in case.plain
        and run_case(spark, case) == Outcome("equal")
    )
    names = [f"`{place}.`" for place in range(len(plain.left.fields))]
    case = replace(plain, left=plain.left.named(names))
    assert run_case(spark, case) == Outcome("equal")
    # A function that is shown other names is told apart.
    blind = replace(case, prelude=case.prelude.replace("SEEN or", ""))
    assert run_case(spark, blind).verdict == "wrong"


@pytest.mark.spark
@on_classic_spark
def test_some_cases_agree_with_spark(spark):
    report = Report(seed=1)
    fuzz(spark, report, range(1, 101 if THOROUGH else 9), seconds=600, tries=0)
    assert not report.failures, report.listing()
