"""State and output equal a recomputation, whatever moves, restarts or fails in between."""

from __future__ import annotations

import logging
import random

import numpy as np
import pytest
from tests.effort import THOROUGH
from tests.spark.conftest import INTERPRETED
from tests.spark.state.batches import CLASSIC, Driver, Reference, random_batches, shuffle_tables

from unskew._spark.frames import fault_points
from unskew._spark.stateful import run as state_run
from unskew._spark.stateful.batch_job import worker_column
from unskew.errors import StateError
from unskew.partitioners import ConsistentRing, RoutingTable

pytestmark = [pytest.mark.spark, CLASSIC]


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
    # The second batch hands the key over, the third deletes it there, the fourth brings it back.
    for number, row in enumerate([1, 2, 13, 14, 15, 16]):
        rows = [(row, "a", 1, None)]
        run(driver.frame(rows), number)
        reference.batch(rows)
        hashes = run.controller.statistics(run.table).keys
        home = int(run.table.fallback.router().route(hashes)[0])
        owner = 1 - home if number < 2 else home
        table = RoutingTable(2, hashes, np.array([owner], np.int32), run.table.fallback)
        run.target = table
    assert [record.migrated_keys for record in run.progress] == [0, 1, 0, 1, 0, 0]
    driver.assert_same(reference)


def test_scaling_moves_what_the_ring_says(spark, tmp_path):
    driver, reference = Driver(spark, tmp_path, {"rebalancer": None}), Reference()
    run = driver.start(workers=4)
    count = 1500
    # No id is a multiple of 13: all keys keep their state.
    batches = [[(13 * n + 1, f"w{n}", 1, None) for n in range(count)]]
    batches += [[(13 * n + 2, "w0", 1, None)] for n in range(4)]
    for number, rows in enumerate(batches):
        run.workers = 5 if number < 3 else 4
        if number == 0:
            run.workers = 4
        run(driver.frame(rows), number)
        reference.batch(rows)
    grown, shrunk = run.progress[1], run.progress[3]
    assert [record.workers for record in run.progress] == [4, 4, 5, 5, 4]
    assert 0 < grown.migrated_keys <= 1.3 * count / 5
    assert shrunk.migrated_keys == grown.migrated_keys
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
    kept = {f"files/{name}" for name in run.files.names("files")}
    assert run.commit.names <= kept
    assert len(run.files.names("commits")) == 3
    run.log.mend(run.log.last())  # A restart leaves nothing behind that no commit names.
    kept = {f"files/{name}" for name in run.files.names("files")}
    assert kept == set.union(*(names for names in run.log._kept.values()))


def test_an_attempt_that_fails_in_the_middle_leaves_no_trace(spark, tmp_path):
    """Some workers have written their files when another fails; and a task is tried again."""
    driver, reference = Driver(spark, tmp_path, {"merge_after": 1}), Reference()
    mark = tmp_path / "failed once"
    inner = driver.processor

    def failing():
        from unskew._spark.stateful.processor import FunctionProcessor

        def process(key, rows, state):

            if rows["id"].to_pylist()[0] % 7 == 0 and not mark.exists():
                mark.touch()
                raise RuntimeError("the first attempt")
            return inner.process(key, rows, state)

        return FunctionProcessor(process)

    driver.processor = failing()
    run = driver.start(workers=3)
    for number, rows in enumerate(random_batches(4, 4)):
        run(driver.frame(rows), number)
        reference.batch(rows)
    assert mark.exists()
    driver.assert_same(reference)


@pytest.mark.parametrize("folder", ["files", "commits"])
def test_a_folder_that_cannot_be_written_is_told_and_nothing_is_lost(spark, tmp_path, folder):
    driver, reference = Driver(spark, tmp_path, {}), Reference()
    run = driver.start(workers=2)
    files = tmp_path / "state" / folder
    files.parent.mkdir()
    files.write_text("where a folder should be")
    for number, rows in enumerate(random_batches(9, 2)):
        if number == 0:
            with pytest.raises(StateError, match=r"cannot be written: .* nothing is lost"):
                run(driver.frame(rows), number)
            files.unlink()
        run(driver.frame(rows), number)
        reference.batch(rows)
    driver.assert_same(reference)


def test_a_feed_that_fails_fails_no_batch(spark, tmp_path, caplog):
    driver, reference = Driver(spark, tmp_path, {}), Reference()
    run = driver.start(workers=2)
    seen = []

    def failing(record):
        raise OSError("no room for records")

    run.feeds = (failing, seen.append)
    [rows] = random_batches(9, 1)
    run(driver.frame(rows), 0)
    assert "no room for records" in caplog.text
    assert seen == [*run.progress]
    reference.batch(rows)
    driver.assert_same(reference)


def test_a_sink_may_read_its_output_in_part_twice_or_not_at_all(spark, tmp_path):
    driver, reference = Driver(spark, tmp_path, {}), Reference()
    run = driver.start(workers=3)

    def sink(output, batch):
        for _ in range(batch):
            output.take(1)
        if batch:
            driver.sink(output, batch)

    run.sink = sink
    for number, rows in enumerate(random_batches(6, 4)):
        run(driver.frame(rows), number)
        reference.batch(rows)
        if number == 0:  # its output was not read
            reference.output = []
    driver.assert_same(reference)


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


def test_the_table_is_not_in_the_text_of_the_plan(spark):
    """Of which Spark's driver remembers a thousand."""
    keys = np.random.default_rng(1).integers(0, 2**64, 4000, dtype=np.uint64)
    owners = np.arange(3000, dtype=np.int32) % 8
    table = RoutingTable(8, keys[:3000], owners, ConsistentRing(8))
    rows = spark.createDataFrame([(key,) for key in keys.view(np.int64).tolist()], "hash long")
    found = rows.select(worker_column(table).alias("worker"))
    assert [row.worker for row in found.collect()] == table.router().route(keys).tolist()
    assert len(found._jdf.queryExecution().toString()) < 10_000


def test_a_batch_is_one_job_of_two_stages_and_compiles_nothing_new(spark, tmp_path, monkeypatch):
    shuffle_tables(monkeypatch, 5)
    for name in INTERPRETED:
        spark.conf.unset(name)
    driver = Driver(spark, tmp_path, {})
    run = driver.start(workers=3)
    context, tracker = spark.sparkContext, spark.sparkContext.statusTracker()
    metrics = context._jvm.org.apache.spark.metrics.source.CodegenMetrics
    compiled = []
    for number, rows in enumerate(random_batches(5, 6)):
        frame = driver.frame(rows or [(number, "a", 1, None)])
        before = metrics.METRIC_COMPILATION_TIME().getCount()
        context.setJobGroup(f"batch {number}", "a batch")
        run(frame, number)
        compiled.append(metrics.METRIC_COMPILATION_TIME().getCount() - before)
        [job] = tracker.getJobIdsForGroup(f"batch {number}")
        assert len(tracker.getJobInfo(job).stageIds) == 2
    context._jsc.clearJobGroup()
    assert sum(record.migrated_keys for record in run.progress) > 0
    # Spark keeps the code of a hundred plans, those of other tests among them.
    assert min(compiled[2:]) == 0
