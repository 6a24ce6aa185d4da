"""Which way a join takes, from made-up sizes and counts; no Spark session needed."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from tests.spark.test_cost_model import profile, zipf

from unskew._spark.planning.join_decision import settled
from unskew._spark.planning.join_kinds import JoinKind
from unskew._spark.planning.join_ways import JoinJob
from unskew._spark.planning.join_work import JoinKeys, SideRows
from unskew._spark.planning.machine import Machine
from unskew._spark.planning.settings import PlanSettings
from unskew._spark.planning.skew_join import SkewJoin

CLUSTER = Machine(slots=32, cores=32)
NO_SPLITS = SkewJoin(on=False)


def job(left: float, right: float, kind: JoinKind = JoinKind.INNER, **more) -> JoinJob:
    sides = [SideRows(rows, 30.0, 32) for rows in (left, right)]
    given = {"machine": CLUSTER, "skew_join": NO_SPLITS, "workers": None, **more}
    return JoinJob(
        left=sides[0],
        right=sides[1],
        kind=kind,
        shuffle_partitions=200,
        settings=PlanSettings(),
        **given,
    )


def counted(left: np.ndarray, right: np.ndarray, **more) -> JoinJob:
    made = job(left.sum(), right.sum(), **more)
    profiles = [profile(counts, min(counts.size, 1000)) for counts in (left, right)]
    return dataclasses.replace(made, keys=JoinKeys.of(*profiles))


def by_size(made: JoinJob) -> str | None:
    way = settled(made, made.ways())
    return None if way is None else way.name


def test_a_small_table_is_copied_to_all_workers_without_counting_keys():
    assert by_size(job(10e6, 2000)) == "copy right"
    assert by_size(job(2000, 10e6)) == "copy left"
    assert by_size(job(10e6, 2000, JoinKind.LEFT)) == "copy right"
    assert by_size(job(10e6, 2000, JoinKind.ANTI)) == "copy right"


@pytest.mark.parametrize("kind", [JoinKind.RIGHT, JoinKind.FULL])
def test_a_side_whose_lonely_rows_are_in_the_result_is_never_copied(kind):
    assert "copy right" not in [way.name for way in job(10e6, 2000, kind).ways()]
    assert by_size(job(100e6, 2000, kind)) is None


def test_keys_are_counted_only_where_that_can_pay():
    assert by_size(job(500e3, 200e3)) == "plain"
    assert by_size(job(100e6, 20e6)) is None
    two_cores = Machine(slots=2, cores=2)
    assert by_size(job(100e6, 20e6, machine=two_cores, skew_join=SkewJoin())) == "plain"


def test_few_rows_that_meet_often_are_no_small_join():
    small = job(500e3, 500e3)
    assert small.may_explode
    assert by_size(small) == "plain"
    often = dataclasses.replace(small, meeting=0.04)
    assert by_size(often) != "plain"
    hot = counted(*(zipf(500_000, 2000, 1.2) for _ in range(2)))
    assert hot.ways()[0].name != "plain"
    assert hot.total > 100 * small.total
    # Of a join that only filters each row is in the result at most once.
    assert not job(500e3, 500e3, JoinKind.SEMI).may_explode
    assert not job(1000, 1000).may_explode


def test_hot_keys_of_two_large_sides_are_split():
    hot = counted(zipf(50_000_000, 20_000, 1.2), np.full(20_000, 500.0))
    names = [way.name for way in hot.ways()]
    assert names[0] == "planned-split"
    assert sorted(names) == ["copy left", "copy right", "plain", "planned-split", "planned-split"]
    plain = next(way for way in hot.ways() if way.name == "plain")
    assert plain.seconds > 2 * hot.ways()[0].seconds


def test_work_on_the_rows_of_the_result_makes_counting_pay():
    small = {"left": 20_000.0, "right": 20_000.0, "kind": JoinKind.FULL, "meeting": 0.0}
    assert by_size(job(**small)) == "plain"
    assert by_size(job(**small, pair=1e-3)) is None
    counts = zipf(20_000, 200, 1.2)
    light, costly = (counted(counts, np.ones(200), pair=pair) for pair in (1e-7, 1e-3))
    assert light.ways()[0].name == "plain"
    assert costly.ways()[0].name != "plain"


def test_level_keys_are_left_to_spark():
    level = counted(np.full(20_000, 1000.0), np.full(20_000, 5.0))
    assert level.ways()[0].name == "plain"


def test_a_hot_key_is_split_where_it_has_more_rows():
    left, right = np.full(1000, 100.0), np.full(1000, 100.0)
    left[0], right[1] = 5e6, 5e6
    way = next(way for way in counted(left, right).ways() if way.name == "planned-split")
    keys = profile(left, 2).keys
    assert keys[0] in way.right.copied.keys
    assert keys[1] in way.left.copied.keys
    filtering = counted(left, np.ones(1000), kind=JoinKind.SEMI)
    way = next(way for way in filtering.ways() if way.name == "planned-split")
    assert way.left.copied.keys.size == 0


def test_what_spark_splits_itself_is_forecast_so():
    hot = zipf(200_000_000, 20_000, 1.2)
    alone, split = (
        counted(hot, np.ones(20_000), skew_join=skew).as_spark().seconds
        for skew in (NO_SPLITS, SkewJoin())
    )
    assert split < 0.5 * alone
    full = counted(hot, np.ones(20_000), kind=JoinKind.FULL, skew_join=SkewJoin())
    assert full.as_spark().seconds == pytest.approx(alone)


def test_parts_are_those_of_partitions_above_threshold_and_median():
    sizes = np.array([1e9, 20e6, 20e6, 20e6])
    assert SkewJoin().parts(sizes).tolist() == [15, 1, 1, 1]
    assert SkewJoin(threshold=2e9).parts(sizes).tolist() == [1, 1, 1, 1]
    assert SkewJoin(factor=100.0).parts(sizes).tolist() == [1, 1, 1, 1]
    assert NO_SPLITS.parts(sizes).tolist() == [1, 1, 1, 1]


def test_no_task_is_planned_to_get_more_than_it_can_hold():
    small, large = job(10e6, 2000), job(10e9, 2000)
    assert next(small.copies()).tasks == 32
    assert list(large.copies()) == []
    assert [way.name for way in large.ways()] == ["plain"]
    assert next(job(10e6, 2000, workers=8).copies()).tasks == 8
    split = counted(zipf(10_000_000_000, 20_000, 1.2), np.full(20_000, 1e6)).ways()
    assert min(way.tasks for way in split if way.name == "planned-split") > 500
