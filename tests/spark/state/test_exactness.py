"""State and output equal a recomputation, whatever moves, restarts or fails in between."""

from __future__ import annotations

import logging
import random

import numpy as np
import pytest
from tests.effort import THOROUGH
from tests.spark.state.batches import Driver, Reference, random_batches, shuffle_tables

from unskew._spark.frames import fault_points
from unskew._spark.frames.physical_plan import physical_plan
from unskew._spark.stateful import batch_job
from unskew._spark.stateful import run as state_run
from unskew.errors import StateError
from unskew.partitioners import KeyGrouping, RoutingTable

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("seed", range(8 if THOROUGH else 2))
def test_any_tables_and_any_workers(spark, tmp_path, monkeypatch, seed):
    shuffle_tables(monkeypatch, seed)
    draw = random.Random(seed)
    timed = seed % 2 == 0
    settings = {"merge_after": 2, "window": 3}
    if timed:
        settings |= {"event_time": "at", "delay": "5 seconds", "timeout": "12 seconds"}
    driver = Driver(spark, tmp_path, settings)
    reference = Reference(delay=5.0, timeout=12.0) if timed else Reference()
    run = driver.start(workers=4)
    moved = 0
    for number, rows in enumerate(random_batches(seed, 8 if THOROUGH else 5)):
        if number in (2, 6):
            run = driver.start(workers=draw.choice([1, 2, 5]))  # a restart
        if number == 3:
            run.workers = 3  # while running
        run(driver.frame(rows), number)
        reference.batch(rows)
        moved += run.progress[-1].migrated_keys
    assert moved > 0
    driver.assert_same(reference)


def test_a_key_deleted_away_from_home_stays_deleted_when_it_comes_back(spark, tmp_path):
    driver, reference = Driver(spark, tmp_path, {"rebalancer": None}), Reference()
    run = driver.start(workers=2)
    there, back = ([(1, "a", 1, None)], [(13, "a", 1, None)]), [(14, "a", 1, None)]
    for number, rows in enumerate((*there, back)):
        run(driver.frame(rows), number)
        reference.batch(rows)
        hashes = run.controller.statistics().keys
        home = int(KeyGrouping(2).router().route(hashes)[0])
        owner = 1 - home if number == 0 else home
        run.table = RoutingTable(2, hashes, np.array([owner], dtype=np.int32))
    driver.assert_same(reference)


class KilledError(Exception):
    pass


def test_a_failure_between_any_two_writes(spark, tmp_path, monkeypatch):
    shuffle_tables(monkeypatch, seed=7)
    driver, reference = Driver(spark, tmp_path, {"merge_after": 1}), Reference()
    failing = dict(enumerate(state_run.POINTS, start=1))

    def die(point, batch):
        if failing.get(batch) == point:
            del failing[batch]
            raise KilledError(point)

    stop = fault_points.wait_at_points(die)
    try:
        run = driver.start(workers=3)
        for number, rows in enumerate(random_batches(11, len(failing) + 2)):
            frame = driver.frame(rows)
            if number in failing:
                with pytest.raises(KilledError):
                    run(frame, number)
                run = driver.start(workers=3)
            run(frame, number)
            run(frame, number)  # Spark had not heard of the end of the batch
            reference.batch(rows)
    finally:
        stop()
    assert not failing
    driver.assert_same(reference)
    named = {layer.path for layer in run.commit.layers}
    kept = {f"layers/{name}" for name in run.files.names("layers")}
    assert named <= kept
    assert len(run.files.names("commits")) == 3


def test_what_does_not_fit_is_refused(spark, tmp_path, caplog):
    driver, reference = Driver(spark, tmp_path, {}), Reference()
    batches = random_batches(3, 4)
    run = driver.start(workers=2)
    for number, rows in enumerate(batches[:3]):
        run(driver.frame(rows), number)
        reference.batch(rows)
    frame = driver.frame(batches[3])

    with pytest.raises(StateError, match="ends with batch 2, but the query continues with batch 4"):
        run(frame, 4)

    run = driver.start(workers=2)
    spark.sparkContext.setLocalProperty("sql.streaming.queryId", "another")
    with pytest.raises(StateError, match="belongs to query query 1, but this is another"):
        run(frame, 3)

    run = driver.start(workers=2)
    original = run.config.schema.state
    object.__setattr__(run.config.schema, "state", run.config.schema.output)
    with pytest.raises(StateError, match="holds state whose state schema is"):
        run(frame, 3)
    object.__setattr__(run.config.schema, "state", original)

    newest = tmp_path / "state" / "commits" / f"{2:012d}.json"
    whole = newest.read_bytes()
    newest.with_name(f".{newest.name}.crc").unlink()
    newest.write_bytes(whole[: len(whole) // 2])
    run = driver.start(workers=2)
    with caplog.at_level(logging.WARNING, logger="unskew"):
        run(driver.frame(batches[2]), 2)
    assert "falling back to batch 1" in caplog.text
    run(frame, 3)
    reference.batch(batches[3])
    driver.assert_same(reference)


def test_state_stays_where_it_is(spark, tmp_path, monkeypatch):
    """Neither the layers nor what is found in them is shuffled, also after keys have moved."""
    shuffle_tables(monkeypatch, 5)
    plans = []

    def watched(rows, slot, workers):
        if "kind" in rows.columns:
            plans.append(physical_plan(rows))
        return rows.repartition(workers, slot)

    monkeypatch.setattr(batch_job, "place_by_slot", watched)
    driver = Driver(spark, tmp_path, {})
    run = driver.start(workers=3)
    for number, rows in enumerate(random_batches(5, 3)):
        run(driver.frame(rows), number)
    assert sum(record.migrated_keys for record in run.progress) > 0
    assert plans
    for plan in plans:
        assert "FlatMapCoGroupsInArrow" in plan
        assert "Exchange" not in plan
