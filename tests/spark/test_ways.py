"""Every way to run a group function gives plain Spark's rows, and "auto" never asks too much."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
import time
import uuid
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from tests.effort import few_jobs

import unskew
from unskew._spark.engine import pilot, pilot_task
from unskew._spark.engine.deciding import _Remembered
from unskew._spark.frames.physical_plan import physical_plan
from unskew._spark.planning import machine, notices, side_jobs
from unskew._spark.planning.notices import _plans
from unskew._spark.planning.side_jobs import BUDGET
from unskew._spark.planning.work_record import MOST_TRUSTED, WorkRecord
from unskew._spark.routing.route import Route
from unskew.errors import InputError, NeedError, ParameterError
from unskew.hashing import hash_ids
from unskew.partitioners import KeyGrouping, RoutingTable
from unskew.testing import assert_same_result

pytestmark = pytest.mark.spark

SCHEMA = "key string, n bigint, total bigint"
MERGING = ("in-place", "planned-split", "kg", "auto")


@pytest.fixture(scope="module")
def rows(spark):
    key = F.when(F.col("id") % 3 == 0, "hot").when(F.col("id") % 7 == 0, None)
    key = key.otherwise(F.concat(F.lit("k"), F.col("id") % 40))
    return spark.range(0, 600, 1, 5).select(key.alias("key"), "id")


def summed(table: pa.Table) -> pa.Table:
    key = table.column("key").slice(0, 1)
    total = sum(table.column("id").to_pylist())
    return pa.table({"key": key, "n": [table.num_rows], "total": [total]})


def added(parts: pa.Table) -> pa.Table:
    key = parts.column("key").slice(0, 1)
    counts, totals = (sum(parts.column(name).to_pylist()) for name in ("n", "total"))
    return pa.table({"key": key, "n": [counts], "total": [totals]})


@pytest.fixture(scope="module")
def reference(rows):
    return rows.groupBy("key").applyInArrow(summed, SCHEMA)


@pytest.fixture
def no_broadcast(spark):
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    yield
    spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")


@pytest.mark.parametrize("way", MERGING)
def test_merged_results_are_those_of_whole_groups(rows, reference, way):
    grouped = unskew.groupBy(rows, "key", scheme=way, workers=3)
    assert_same_result(grouped.applyInArrow(summed, SCHEMA, merge=added), reference)


@few_jobs
@given(parts=st.integers(1, 5), keys=st.integers(1, 30), size=st.integers(0, 60))
def test_partial_results_in_place(spark, parts, keys, size):
    rows = spark.range(0, size, 1, parts).select(
        F.concat(F.lit("k"), F.col("id") % keys).alias("key"), "id"
    )
    ours = unskew.groupBy(rows, "key", scheme="in-place").applyInArrow(summed, SCHEMA, merge=added)
    assert_same_result(ours, rows.groupBy("key").applyInArrow(summed, SCHEMA))


def test_partial_results_are_merged_where_a_table_says(rows, reference):
    plan = unskew.plan(rows, "key", 3, scheme="in-place")
    hashes = [row[0] for row in rows.select(F.xxhash64("key")).distinct().collect()]
    keys = np.array(hashes, dtype=np.int64).view(np.uint64)
    table = RoutingTable(3, keys[::2], np.full(keys[::2].size, 2, dtype=np.int32))
    placed = replace(plan, route=Route.merged_on(table))
    ours = unskew.groupBy(rows, "key", scheme=placed).applyInArrow(summed, SCHEMA, merge=added)
    assert_same_result(ours, reference)
    where = ours.select(F.xxhash64("key"), F.spark_partition_id()).collect()
    owners = table.router().route(np.array([row[0] for row in where], dtype=np.int64).view("u8"))
    assert [row[1] for row in where] == owners.tolist()
    assert unskew.Plan.from_json(placed.to_json()) == placed


def test_explain_tells_what_can_be_done_about_a_hot_key(rows, capsys):
    unskew.plan(rows, "key", 8, need="whole-key").explain()
    shown = capsys.readouterr().out
    assert "hot key   hot is whole: 33.3% of the work, 2.7 times a worker's share" in shown
    for way in ("merge=, if results", "a sub-key, if", "taken out and treated alone"):
        assert way in shown
    unskew.plan(rows, "key", 8, need="mergeable").explain()
    assert "hot key" not in capsys.readouterr().out


def test_aggregates_in_place(rows):
    ours = unskew.groupBy(rows, "key", scheme="in-place").agg(top=unskew.top_k("id", 1))
    plain = unskew.groupBy(rows, "key", scheme="kg").agg(top=unskew.top_k("id", 1))
    assert ours.count() == plain.count()


def test_sums_in_place_are_left_to_spark(rows):
    plan = unskew.plan(rows, "key", 4, scheme="in-place")
    ours = unskew.groupBy(rows, "key", scheme=plan).agg(total=unskew.sum("id"))
    assert_same_result(ours, rows.groupBy("key").agg(F.sum("id").alias("total")))


@pytest.mark.classic("Spark Connect shows no plans")
def test_in_place_moves_no_row(rows):
    made = unskew.groupBy(rows, "key", scheme="in-place").applyInArrow(summed, SCHEMA, merge=added)
    plan = made._jdf.queryExecution().executedPlan().toString()
    assert plan.count("Exchange") == 1


def test_whole_keys_are_not_cut_in_place(rows):
    with pytest.raises(NeedError, match="give applyInArrow or applyInPandas a merge function"):
        unskew.groupBy(rows, "key", scheme="in-place").applyInArrow(summed, SCHEMA)
    with pytest.raises(ParameterError, match="moves no row"):
        unskew.repartition(rows, "key", 4, scheme="in-place", need="mergeable")


def test_a_plan_in_place_survives_json(rows, reference):
    plan = unskew.plan(rows, "key", 4, scheme="in-place")
    again = unskew.Plan.from_json(plan.to_json())
    assert again == plan
    ours = unskew.groupBy(rows, "key", scheme=again).applyInArrow(summed, SCHEMA, merge=added)
    assert_same_result(ours, reference)


def test_a_function_that_fails_in_the_pilot_fails_in_the_job_only(rows):
    def fails(table):
        raise ValueError("no such thing")

    made = unskew.groupBy(rows, "key").applyInArrow(fails, SCHEMA)
    with pytest.raises(Exception, match="no such thing"):
        made.collect()


def test_a_pilot_of_whole_keys_sees_whole_keys(spark, tmp_path):
    sizes = str(tmp_path)
    # -0.0 and 0.0 are one key; the keys have 12,000 rows each, more than a pilot reads.
    rows = spark.range(0, 24_000, 1, 2).selectExpr("if(id % 2 = 0, -0.0D, 0.0D) + id % 4 div 2 key")

    def marking(table):
        Path(sizes, f"{table.num_rows}-{uuid.uuid4().hex}").touch()
        return pa.table({"n": [table.num_rows]})

    made = unskew.groupBy(rows, "key").applyInArrow(marking, "n bigint")
    assert sorted(row["n"] for row in made.collect()) == [12_000, 12_000]
    assert {path.name.partition("-")[0] for path in tmp_path.iterdir()} == {"12000"}


def test_a_function_with_side_effects_is_not_called_before_the_job(rows, tmp_path):
    marks = str(tmp_path)

    def marking(table):
        Path(marks, uuid.uuid4().hex).touch()
        return summed(table)

    made = unskew.groupBy(rows, "key", pilot=False).applyInArrow(marking, SCHEMA)
    assert not list(tmp_path.iterdir())
    assert made.count() == len(list(tmp_path.iterdir()))


@pytest.fixture
def few(spark):
    """Rows that Spark would pack into one task, and a budget of half a second beside a job."""
    given = spark.conf.get(BUDGET)
    spark.conf.set(BUDGET, "0.5")
    yield spark.range(0, 160, 1, 1).selectExpr("string(id % 16) AS key", "id")
    spark.conf.set(BUDGET, given)


@pytest.mark.parametrize("merge", [None, added])
def test_a_function_that_nobody_times_is_not_taken_for_free(few, merge):
    grouped = unskew.groupBy(few, "key", pilot=False)
    made = grouped.applyInArrow(summed, SCHEMA, merge=merge)
    assert not _plans[made].plain
    assert _plans[made].workers >= 2
    assert_same_result(made, few.groupBy("key").applyInArrow(summed, SCHEMA))


@pytest.mark.classic("Spark Connect tells no partitions")
@pytest.mark.parametrize("merge", [None, added])
def test_a_pilot_that_is_not_done_in_time_tells_that_the_function_is_costly(few, merge):
    def slow(table):
        time.sleep(60)
        return summed(table)

    made = unskew.groupBy(few, "key").applyInArrow(slow, SCHEMA, merge=merge)
    assert not _plans[made].plain
    assert not _plans[made].route.stays
    assert _plans[made].workers >= 2


def test_with_a_budget_of_nothing_no_job_runs_beside(few, tmp_path, monkeypatch):
    few.sparkSession.conf.set(BUDGET, "0")
    monkeypatch.setattr(side_jobs, "_named", None)
    for merge in (None, added):
        made = unskew.groupBy(few, "key").applyInArrow(summed, SCHEMA, merge=merge)
        assert _plans[made].workers >= 2
    unskew.groupBy(few, "key").cogroup(unskew.groupBy(few, "key")).applyInArrow(paired, SCHEMA)
    unskew.join(few, few, "key", seconds_per_row=1.0)
    unskew.repartition(few, "key", 2)
    unskew.mapInArrow(few, lambda batches: batches, few.schema, cost="id")


def test_a_costly_input_is_read_once(spark, rows, tmp_path, caplog):
    marks = str(tmp_path)

    def costly(batches):
        Path(marks, uuid.uuid4().hex).touch()
        yield from batches

    behind = rows.mapInArrow(costly, rows.schema)
    with caplog.at_level(logging.INFO, "unskew"):
        made = unskew.groupBy(behind, "key").applyInArrow(summed, SCHEMA, merge=added)
    assert not list(tmp_path.iterdir())
    assert "in-place: an input is costly to compute, so that it is read once" in caplog.text
    assert_same_result(made, rows.groupBy("key").applyInArrow(summed, SCHEMA))
    assert len(list(tmp_path.iterdir())) == 5


@pytest.mark.classic("Spark Connect has no RDDs")
def test_whole_keys_of_a_costly_input_are_not_packed_into_one_task(spark, rows):
    behind = rows.mapInArrow(lambda batches: batches, rows.schema)
    made = unskew.groupBy(behind, "key").applyInArrow(summed, SCHEMA)
    assert made.rdd.getNumPartitions() == spark.sparkContext.defaultParallelism
    assert_same_result(made, rows.groupBy("key").applyInArrow(summed, SCHEMA))


@pytest.mark.parametrize("merge", [None, "merged"])
def test_few_large_groups_of_pandas_go_by_sparks_own_call(spark, merge, capsys):
    rows = spark.range(0, 40_000, 1, 2).selectExpr("id % 2 key", "id")

    def counted(frame):
        return frame.groupby("key", as_index=False).agg(n=("id", "sum"))

    def added_up(frame):
        return frame.groupby("key", as_index=False).agg(n=("n", "sum"))

    # Whole keys at no cost: nothing is gained by splitting them.
    more = {"merge": added_up} if merge else {}
    grouped = unskew.groupBy(rows, "key", workers=2, seconds_per_row=0.0)
    made = grouped.applyInPandas(counted, "key bigint, n bigint", **more)
    if not merge:
        assert "FlatMapGroupsInPandas" in physical_plan(made)
        unskew.explain(made)
        assert "Spark's own call, as groups are large" in capsys.readouterr().out
    assert_same_result(made, rows.groupBy("key").applyInPandas(counted, "key bigint, n bigint"))


def test_what_sparks_own_call_runs_is_measured_again_now_and_then(spark, tmp_path):
    rows = spark.range(0, 40_000, 1, 2).selectExpr("id % 2 key", "id")

    def counted(frame):
        return frame.groupby("key", as_index=False).agg(n=("id", "sum"))

    def is_by_spark():
        grouped = unskew.groupBy(rows, "key", workers=2, name="nightly", seconds_per_row=0.0)
        made = grouped.applyInPandas(counted, "key bigint, n bigint")
        made.collect()
        return "FlatMapGroupsInPandas" in physical_plan(made)

    unskew.remember(tmp_path / "memory")
    try:
        found = [is_by_spark() for _ in range(2 * MOST_TRUSTED + 3)]
    finally:
        unskew.remember(None)
    assert found == [False, *[True] * MOST_TRUSTED] * 2 + [False]


def test_the_first_pilot_of_a_session_tells_how_quick_its_cores_are(spark, rows, monkeypatch):
    told = []

    class Spied(pilot.PilotTask):
        def __init__(self, *given):
            super().__init__(*given)
            told.append(self.calibrates)

        def __reduce__(self):
            return pilot_task.PilotTask, (self.layout, self.call, self.merge, self.calibrates)

    monkeypatch.setattr(pilot, "PilotTask", Spied)
    machine._paces.pop(spark, None)
    for _ in range(2):
        unskew.groupBy(rows, "key").applyInArrow(summed, SCHEMA, merge=added)
    assert told == [True, False]
    assert spark in machine._paces


@pytest.mark.parametrize("given_cost", [0.0, 0.5])
def test_a_hint_decides_without_a_pilot(rows, reference, given_cost):
    def never(table):
        assert table.num_rows
        return summed(table)

    grouped = unskew.groupBy(rows, "key", seconds_per_row=given_cost)
    assert_same_result(grouped.applyInArrow(never, SCHEMA, merge=added), reference)


def paired(left: pa.Table, right: pa.Table) -> pa.Table:
    key = (left if left.num_rows else right).column("key").slice(0, 1)
    ids = sum(right.column("id").to_pylist())
    return pa.table({"key": key, "n": [left.num_rows], "total": [ids]})


def test_null_keys_are_a_group_of_their_own_whatever_is_known_of_the_key(spark):
    # Where the key of the left cannot be null, Spark's own cogroup takes null for zero.
    left = spark.range(-5, 5, 1, 2).selectExpr("id AS key", "id")
    right = left.selectExpr("nullif(key, 0) AS key", "id").where("id > -3")
    ours = unskew.groupBy(left, "key", workers=2).cogroup(unskew.groupBy(right, "key"))

    def sizes(key, here, there):
        shown = pa.array([key[0].as_py()], pa.int64())
        return pa.table({"key": shown, "n": [len(here)], "total": [len(there)]})

    found = ours.applyInArrow(sizes, "key bigint, n bigint, total bigint").collect()
    pairs = {key: (1, int(key > -3 and key != 0)) for key in range(-5, 5)}
    assert {row["key"]: (row["n"], row["total"]) for row in found} == pairs | {None: (0, 1)}
    assert len(found) == 11


@pytest.mark.parametrize("workers", [None, 1, 2])
def test_both_sides_of_a_cogroup_are_left_to_spark_alike(spark, workers):
    level = spark.range(40).selectExpr("string(id % 8) AS key", "id")
    other = level.selectExpr("key", "id + 100 AS id")
    ours = unskew.groupBy(level, "key", workers=workers).cogroup(unskew.groupBy(other, "key"))
    plain = level.groupBy("key").cogroup(other.groupBy("key"))
    assert_same_result(ours.applyInArrow(paired, SCHEMA), plain.applyInArrow(paired, SCHEMA))


def test_rows_are_cogrouped_with_themselves(rows):
    ours = unskew.groupBy(rows, "key", workers=3, scheme="routing-table")
    again = ours.cogroup(unskew.groupBy(rows.where("id < 300"), "key"))
    plain = rows.groupBy("key").cogroup(rows.where("id < 300").groupBy("key"))
    assert_same_result(again.applyInArrow(paired, SCHEMA), plain.applyInArrow(paired, SCHEMA))


def test_a_cogroup_reads_a_costly_input_once(rows, tmp_path, capsys):
    marks = str(tmp_path)

    def costly(batches):
        Path(marks, uuid.uuid4().hex).touch()
        yield from batches

    behind = rows.mapInArrow(costly, rows.schema)
    ours = unskew.groupBy(behind, "key").cogroup(unskew.groupBy(rows, "key"))
    made = ours.applyInArrow(paired, SCHEMA)
    assert not list(tmp_path.iterdir())
    unskew.explain(made)
    assert "read once" in capsys.readouterr().out
    plain = rows.groupBy("key").cogroup(rows.groupBy("key")).applyInArrow(paired, SCHEMA)
    assert_same_result(made, plain)
    assert len(list(tmp_path.iterdir())) == 5


def test_a_cogroup_weighs_its_ways_by_seconds(spark, capsys):
    key = F.when(F.col("id") % 2 == 0, "hot").otherwise(F.concat(F.lit("k"), F.col("id") % 40))
    many = spark.range(0, 20_000, 1, 2).select(key.alias("key"), "id")
    few = many.where("id < 100")
    ours = unskew.groupBy(many, "key").cogroup(unskew.groupBy(few, "key"))
    made = ours.applyInArrow(paired, SCHEMA)
    unskew.explain(made)
    shown = capsys.readouterr().out
    assert "weighed " in shown
    assert "no measurement" in shown
    plan = unskew.plan_of(made)
    assert {way.name for way in plan.ways} == {"hash", "routing-table"}
    assert plan.workers >= 2
    plain = many.groupBy("key").cogroup(few.groupBy("key")).applyInArrow(paired, SCHEMA)
    assert_same_result(made, plain)


def test_to_repartition_a_costly_input_reads_it_once(rows, tmp_path):
    marks = str(tmp_path)

    def costly(batches):
        Path(marks, uuid.uuid4().hex).touch()
        yield from batches

    placed = unskew.repartition(rows.mapInArrow(costly, rows.schema), "key", 3)
    assert not list(tmp_path.iterdir())
    assert "read once" in unskew.plan_of(placed).why
    assert_same_result(placed, rows)


def test_a_cogroup_without_a_key_counts_no_keys(rows):
    ours = unskew.groupBy(rows, scheme="routing-table").cogroup(unskew.groupBy(rows))
    plain = rows.groupBy().cogroup(rows.groupBy())
    assert_same_result(ours.applyInArrow(paired, SCHEMA), plain.applyInArrow(paired, SCHEMA))


@pytest.mark.parametrize("merge", [None, added])
def test_a_job_that_is_remembered_needs_neither_pilot_nor_pass(rows, reference, tmp_path, merge):
    folder, marks = tmp_path / "memory", tmp_path / "marks"
    marks.mkdir()

    def marking(table):
        Path(marks, uuid.uuid4().hex).touch()
        return summed(table)

    def run():
        grouped = unskew.groupBy(rows, "key", name="nightly", workers=3)
        return grouped.applyInArrow(marking, SCHEMA, merge=merge)

    unskew.remember(folder)
    try:
        assert_same_result(run(), reference)
        before = len(list(marks.iterdir()))
        second = run()
        assert len(list(marks.iterdir())) == before
        assert_same_result(second, reference)
    finally:
        unskew.remember(None)


@pytest.mark.parametrize("drift", [0.3, 0.4])
def test_keys_that_change_from_run_to_run_are_counted_anew(rows, reference, drift, monkeypatch):
    yesterday = hash_ids(np.arange(8))
    owners = KeyGrouping(3).router().route(yesterday)
    # Hashing would send all heavy keys to one worker.
    seconds = np.where(owners == owners[0], 20.0, 1.0)
    record = WorkRecord.of(yesterday, np.full(8, 75), seconds)
    found = replace(record, drift=drift)
    monkeypatch.setattr(_Remembered, "of", lambda *_: Kept(found))
    grouped = unskew.groupBy(rows, "key", workers=3)
    made = grouped.applyInArrow(summed, SCHEMA)
    plan = _plans[made]
    assert ("an earlier run" in plan.statistics) == (drift < 1 / 3)
    named = set(np.array(getattr(plan.partitioner, "keys", [])).tolist())
    assert bool(named & set(yesterday.tolist())) == (drift < 1 / 3)
    assert_same_result(made, reference)


class Kept(NamedTuple):
    """A job that is remembered, and not recorded."""

    record: WorkRecord

    def recall(self):
        return self.record

    def place(self, plan, merging):
        return None


def test_another_job_of_the_same_name_is_not_taken_for_this_one(rows, tmp_path, caplog):
    caplog.set_level(logging.INFO, "unskew")

    def apply(key="key", function=summed, merge=None):
        keyed = unskew.groupBy(rows, key, name="nightly", workers=2)
        return keyed.applyInArrow(function, SCHEMA, merge=merge)

    def added_otherwise(parts):
        return added(parts).slice(0)

    jobs = (
        partial(apply),
        partial(apply, key="id"),
        partial(apply, merge=added),
        partial(apply, merge=added_otherwise),
        lambda: unskew.groupBy(rows, "key", name="nightly").agg(most=unskew.top_k("id", 1)),
    )
    unskew.remember(tmp_path / "memory")
    try:
        apply().collect()
        for job in jobs[1:]:
            caplog.clear()
            job()
            assert "an earlier run" not in caplog.text
        caplog.clear()
        apply()
        assert "an earlier run" in caplog.text
    finally:
        unskew.remember(None)


@pytest.mark.parametrize("asked", [{"scheme": "kg"}, {"capacities": [1.0, 2.0]}])
def test_what_nobody_recalls_is_not_recorded(rows, tmp_path, asked):
    unskew.remember(tmp_path / "memory")
    try:
        grouped = unskew.groupBy(rows, "key", workers=2, name="nightly", **asked)
        grouped.applyInArrow(summed, SCHEMA).collect()
    finally:
        unskew.remember(None)
    assert not list((tmp_path).rglob("*"))


def test_aggregates_in_python_are_remembered(rows, tmp_path, caplog):
    caplog.set_level(logging.INFO, "unskew")

    def run(name):
        grouped = unskew.groupBy(rows, "key", name=name)
        return grouped.agg(n=unskew.count(), most=unskew.top_k("key", 1)).select("key", "n")

    unskew.remember(tmp_path / "memory")
    try:
        for _ in range(2):
            assert_same_result(run("nightly"), rows.groupBy("key").agg(F.count("*").alias("n")))
        assert "(an earlier run)" in caplog.messages[-1]
        assert "(an earlier run)" not in caplog.messages[0]
    finally:
        unskew.remember(None)


def test_explain_shows_the_ways_that_were_weighed(rows, capsys):
    result = unskew.groupBy(rows, "key", seconds_per_row=0.1).applyInArrow(
        summed, SCHEMA, merge=added
    )
    unskew.explain(result)
    shown = capsys.readouterr().out
    assert "weighed" in shown
    assert "in-place" in shown
    assert "took" not in shown
    with pytest.raises(ParameterError, match="no plan of unskew's"):
        unskew.explain(rows)


@pytest.fixture
def one_call(rows):
    """Calls of verbs, each of which decides once."""
    grouped = unskew.groupBy(rows, "key")
    return (
        lambda: grouped.applyInArrow(summed, SCHEMA, merge=added),
        lambda: grouped.agg(most=unskew.top_k("id", 1)),
        lambda: grouped.agg(n=unskew.count()),
        lambda: grouped.cogroup(grouped).applyInArrow(paired, SCHEMA),
        lambda: unskew.join(rows, rows, "key"),
        lambda: unskew.repartition(rows, "key", 2),
        lambda: unskew.mapInArrow(rows, lambda batches: batches, rows.schema, cost="id"),
    )


def test_a_decision_is_printed_once_in_an_interactive_shell_and_logged_elsewhere(
    one_call, capsys, caplog, monkeypatch
):
    caplog.set_level(logging.INFO, "unskew")
    for call in one_call:
        for interactive in (True, False):
            monkeypatch.setattr(notices, "_is_interactive", lambda shown=interactive: shown)
            caplog.clear()
            call()
            (logged,) = caplog.messages
            assert capsys.readouterr().out == (f"unskew: {logged}\n" if interactive else "")
        monkeypatch.setattr(notices, "_is_interactive", lambda: True)
        unskew.verbose(False)
        try:
            call()
        finally:
            unskew.verbose()
        assert capsys.readouterr().out == ""


def test_a_decision_is_one_sentence(rows, caplog):
    caplog.set_level(logging.INFO, "unskew")
    grouped = unskew.groupBy(rows, "key", workers=2, seconds_per_row=0.01)
    grouped.applyInArrow(summed, SCHEMA, merge=added)
    assert re.fullmatch(
        r"(in-place|planned-split): \d\.\d s expected, [\d.]+ × as quick as Spark's own shuffle "
        r"\(\d\.\d s\), because .*; 30 µs a call, 10 ms a row \(given\)",
        caplog.messages[-1],
    )


def test_the_heaviest_keys_of_a_table_are_told_by_their_values(spark, capsys):
    key = F.when(F.col("id") % 3 == 0, "hot\x1b[31m").when(F.col("id") % 5 == 0, "warm")
    key = key.otherwise(F.concat(F.lit("k"), F.col("id") % 40))
    rows = spark.range(0, 600, 1, 2).select(key.alias("key"))
    plan = unskew.plan(rows, "key", 8, need="whole-key")
    plan.explain()
    routing = capsys.readouterr().out.partition("\nrouting ")[2].splitlines()
    assert re.match(r" +hot\\x1b\[31m: 100% to \d$", routing[1])
    assert re.match(r" +warm: 100% to \d$", routing[2])
    again = unskew.Plan.from_json(plan.to_json())
    assert again == plan
    assert again.heavy == plan.heavy
    without = json.loads(plan.to_json())
    del without["heavy"]
    assert unskew.Plan.from_json(json.dumps(without)).heavy == ()
    for wrong in ([1 << 63], ["a"], 3):
        with pytest.raises(InputError, match="heavy="):
            unskew.Plan.from_json(json.dumps({**without, "heavy": wrong}))


def test_keys_that_python_cannot_read_are_told_by_their_values(spark, capsys):
    rows = spark.range(0, 600, 1, 2).selectExpr(
        "if(id % 3 = 0, timestamp_seconds(379620000000L), timestamp_seconds(id % 40)) time",
        "if(id % 3 = 0, interval '14' month, interval '1' month) span",
    )
    unskew.plan(rows, ["time", "span"], 8, need="whole-key").explain()
    shown = capsys.readouterr().out
    assert re.search(r"\n +\+13999-\d\d-\d\d .*: 100% to \d\n", shown)
    assert re.search("hot key   \\+13999-", shown)


def test_names_of_columns_are_escaped(spark, capsys):
    rows = spark.range(20).withColumnRenamed("id", "id\x1b[31m")
    other = rows.withColumn("x", F.lit(1))
    unskew.plan(rows, "id\x1b[31m", 2).explain()
    unskew.explain(unskew.join(rows, other, "id\x1b[31m"))
    shown = capsys.readouterr().out
    assert shown.count("by id\\x1b[31m\n") == 2
    assert "\x1b" not in shown


def test_a_hot_key_of_a_costly_input_is_shown_by_the_hash_that_spark_has(spark, capsys):
    rows = spark.range(60).selectExpr("if(id % 3 > 0, 'hot', string(id)) key")
    costly = rows.mapInArrow(lambda batches: batches, rows.schema)
    unskew.plan(costly, "key", 8, need="whole-key").explain()
    hashed = F.format_string("%016x", F.xxhash64("key"))
    found = rows.where("key = 'hot'").select(hashed).first()[0]
    assert f"hot key   {found} is whole" in capsys.readouterr().out


def test_a_plan_is_told_when_its_session_is_stopped():
    program = (
        "import unskew, unskew.testing\n"
        "spark = unskew.testing.local_session(2)\n"
        "rows = spark.range(60).selectExpr('if(id % 3 > 0, 7, id) key')\n"
        "plan = unskew.plan(rows, 'key', 8, need='whole-key')\n"
        "spark.stop()\n"
        "plan.explain()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert re.search("hot key   [0-9a-f]{16} is whole", done.stdout), done.stderr


def test_every_verb_tells_its_plan(rows, capsys, no_broadcast):
    grouped = unskew.groupBy(rows, "key", workers=2)
    ways = {
        "in Python": grouped.agg(most=unskew.top_k("id", 1)),
        "without a key": unskew.groupBy(rows).agg(most=unskew.top_k("id", 1)),
        "by Spark": grouped.agg(n=unskew.count()),
        "placed": unskew.groupBy(rows, "key", scheme="kg").agg(n=unskew.count()),
        "whole": unskew.groupBy(rows, "key", scheme="kg").agg(F.max_by("id", "id")),
        "repartition": unskew.repartition(rows, "key", 2),
        "ring": unskew.repartition(rows, "key", 2, scheme="ring"),
        "join": unskew.join(rows, rows, "key"),
        "cogroup": grouped.cogroup(unskew.groupBy(rows, "key")).applyInArrow(paired, SCHEMA),
        "map": unskew.mapInArrow(rows, lambda batches: batches, rows.schema, cost="id"),
    }
    capsys.readouterr()
    for result in ways.values():
        unskew.explain(result)
        shown = capsys.readouterr().out
        assert re.match("scheme    .*\nreason    ", shown)
        assert unskew.plan_of(result).why in shown
    assert unskew.plan_of(ways["in Python"]).forecast_seconds > 0
    assert unskew.plan_of(ways["join"]).forecast_seconds > 0
    assert unskew.plan_of(ways["ring"]).forecast_seconds is None


@pytest.mark.classic("Spark Connect does not tell of its queries")
@pytest.mark.parametrize("run", [DataFrame.collect, DataFrame.count, DataFrame.toArrow])
def test_explain_shows_what_the_run_took(rows, capsys, run):
    grouped = unskew.groupBy(rows, "key")
    made = (
        grouped.applyInArrow(summed, SCHEMA),
        unskew.groupBy(rows, "key").cogroup(grouped).applyInArrow(paired, SCHEMA),
        unskew.join(rows, rows.select("key").distinct(), "key", scheme="planned-split"),
        unskew.mapInArrow(rows, lambda batches: batches, rows.schema, cost="id"),
    )
    for result in made:
        run(result)
        unskew.explain(result)
        assert re.search(r"took +[0-9.]+ s when it ran", capsys.readouterr().out)
