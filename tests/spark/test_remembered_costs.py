"""Maps that remember what rows cost, from run to run."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark import TaskContext
from pyspark.sql import functions as F
from tests.effort import few_jobs

import unskew
from unskew._spark.costs import known_costs
from unskew._spark.costs.known_costs import fingerprint_of
from unskew._spark.planning.job_names import job_name
from unskew._spark.planning.memory import Memory
from unskew._spark.planning.number_keys import keys_of_numbers
from unskew._spark.planning.work_record import MOST_TRUSTED, WorkRecord
from unskew.hashing import hash_keys

pytestmark = pytest.mark.spark

SCHEMA = "id long, task int"


def seen(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    task = TaskContext.get().partitionId()  # type: ignore[union-attr]
    for batch in batches:
        tasks = pa.array([task] * batch.num_rows, pa.int32())
        yield pa.record_batch({"id": batch.column("id"), "task": tasks})


@pytest.fixture
def memory(spark, tmp_path) -> Iterator[Memory]:
    unskew.remember(tmp_path)
    found = Memory.of(spark)
    assert found is not None
    yield found
    unskew.remember(None)


@pytest.fixture
def rows(spark):
    """One row of key h; all others of k0..k9."""
    key = F.when(F.col("id") == 77, "h").otherwise(F.concat(F.lit("k"), F.col("id") % 10))
    return spark.range(0, 100, 1, 3).withColumn("key", key)


def test_costs_by_key_are_learned_by_one_run_and_used_by_the_next(memory, rows):
    said: list[str] = []
    given = {"cost_key": "key", "workers": 3, "name": "job", "say": said.append}
    first = unskew.mapInArrow(rows, seen, SCHEMA, **given)
    assert {row["task"] for row in first.collect()} == {0, 1, 2}
    assert "not known yet; this run tells the next" in said[0]
    job = job_name("job", "map", (), seen)
    mark = fingerprint_of(seen, "arrow", ("key",), "key")
    timed = memory.recall(job, mark)
    assert timed is not None
    assert timed.rows == 100
    # What a slow function would have left there.
    keys = hash_keys(pa.array(["h", *(f"k{number}" for number in range(10))]))
    record = WorkRecord.of(
        keys, np.array([1, *[10] * 10]), np.array([30.0, *[3.0] * 10]),
        fingerprint=mark,
    )  # fmt: skip
    place = memory.start_run(job, mark, 1)
    assert place is not None
    place.write(record, 0, 0)
    again = unskew.mapInArrow(rows, seen, SCHEMA, **given)
    assert said[1].startswith("heavy first: ")
    assert "earlier run" in said[1]
    tasks = {row["id"]: row["task"] for row in again.collect()}
    assert tasks[77] == 0
    assert sorted(tasks) == list(range(100))
    assert min(task for number, task in tasks.items() if number != 77) > 0


keys = st.lists(st.none() | st.sampled_from(["h", "", "k", "Ω"]), max_size=30)


numbers = st.lists(
    st.none() | st.sampled_from([0.0, -0.0, -7.0, float("nan"), float("inf"), 1e300, 2.5]),
    max_size=40,
)


@few_jobs
@pytest.mark.parametrize(("kind", "values"), [("string", keys), ("double", numbers)])
@given(data=st.data(), pandas=st.booleans())
def test_rows_are_those_of_plain_spark_in_every_run(
    spark, tmp_path_factory, kind, values, data, pandas
):
    """Whatever is known of the keys, and of keys that come and go."""
    tables = data.draw(st.lists(values, min_size=2, max_size=3))
    unskew.remember(tmp_path_factory.mktemp("memory"))
    try:
        for table in tables:
            rows = spark.createDataFrame([*enumerate(table)], f"id long, key {kind}")
            verb = unskew.mapInPandas if pandas else unskew.mapInArrow
            function = uneven_frames if pandas else uneven
            given = {"cost_key": "key", "workers": 2, "name": "some", "scheme": "heavy-first"}
            ours = verb(rows, function, rows.schema, **given)
            plain = (rows.mapInPandas if pandas else rows.mapInArrow)(function, rows.schema)
            assert sorted(map(repr, ours.collect())) == sorted(map(repr, plain.collect()))
    finally:
        unskew.remember(None)


def uneven(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Every third row twice, every fifth not at all."""
    for batch in batches:
        ids = batch.column("id").to_pylist()
        kept = [at for at, each in enumerate(ids) for _ in range((each % 5 > 0) + (each % 3 == 0))]
        yield batch.take(pa.array(kept, pa.int64()))


def uneven_frames(frames):
    for frame in frames:
        yield frame[frame["id"] % 5 > 0]


def test_a_number_that_was_never_seen_goes_by_its_neighbours(memory, spark):
    size = F.when(F.col("id") == 77, 5000).otherwise(10 + F.col("id") % 90)
    rows = spark.range(0, 100, 1, 3).withColumn("size", size)
    job, mark = (
        job_name("sizes", "map", (), seen),
        fingerprint_of(seen, "arrow", ("size",), "number"),
    )
    # What a function would have left there that takes 10 ms for each unit of size.
    known = np.arange(10.0, 1000.0)
    record = WorkRecord.of(
        keys_of_numbers(known), np.ones(known.size, dtype=np.int64), 0.01 * known, fingerprint=mark
    )
    place = memory.start_run(job, mark, 1)
    assert place is not None
    place.write(record, 0, 0)
    said: list[str] = []
    given = {"cost_key": "size", "workers": 3, "name": "sizes", "say": said.append}
    tasks = {
        row["id"]: row["task"] for row in unskew.mapInArrow(rows, seen, SCHEMA, **given).collect()
    }
    assert said[0].startswith("heavy first: ")
    assert tasks[77] == 0
    assert sorted(tasks) == list(range(100))
    assert min(task for number, task in tasks.items() if number != 77) > 0


@pytest.mark.parametrize("later", [(140.0, 100.0, 100.0, 60.0), (10.0, 10.0, 10.0, 370.0)])
def test_once_enough_is_known_runs_are_timed_now_and_then(memory, spark, later):
    """Not while costs still change from run to run."""
    rows = spark.range(0, 2000, 1, 2).withColumn("key", F.concat(F.lit("k"), F.col("id") % 4))
    job, mark = job_name("often", "map", (), seen), fingerprint_of(seen, "arrow", ("key",), "key")
    keys, each = hash_keys(pa.array(["k0", "k1", "k2", "k3"])), np.full(4, 500)

    def took(*seconds: float) -> None:
        place = memory.start_run(job, mark, 1)
        assert place is not None
        place.write(WorkRecord.of(keys, each, np.array(seconds), fingerprint=mark), 0, 0)
        assert memory.recall(job, mark) is not None

    def is_timed() -> bool:
        given = {"cost_key": "key", "workers": 3, "name": "often"}
        assert unskew.mapInArrow(rows, seen, SCHEMA, **given).count() == 2000
        folder = Path(memory.folder) / job
        parts = [each for each in folder.iterdir() if each.is_dir()]
        for each in parts:  # What it took in truth would make it a short run.
            shutil.rmtree(each)
        return bool(parts)

    took(100.0, 100.0, 100.0, 100.0)
    assert is_timed()
    took(*later)
    changed = later[-1] > 100
    assert [is_timed() for _ in range(MOST_TRUSTED + 1)] == [changed] * MOST_TRUSTED + [True]
    record = memory.recall(job, mark)
    assert record is not None
    assert record.rows == 2000


@pytest.mark.usefixtures("memory")
def test_rows_go_by_the_cost_of_their_key_where_the_scheme_says_so(rows):
    said: list[str] = []
    given = {"cost_key": "key", "workers": 3, "name": "always", "scheme": "heavy-first"}
    for _ in range(2):
        mapped = unskew.mapInArrow(rows, seen, SCHEMA, say=said.append, **given)
        assert mapped.count() == 100
    assert said[1].startswith("heavy first: ")


@pytest.mark.usefixtures("memory")
def test_a_run_with_costs_tells_the_next_what_a_unit_takes(spark, monkeypatch):
    monkeypatch.setattr(known_costs, "SHORT", 0.0)
    rows = spark.range(0, 60, 1, 2).withColumn("cost", 1.0 + F.col("id") % 3)
    said: list[str] = []
    for verb in (unskew.mapInArrow, unskew.mapInPandas):
        given = {"cost": "cost", "workers": 2, "name": verb.__name__, "say": said.append}
        function = seen if verb is unskew.mapInArrow else lambda frames: frames
        schema = SCHEMA if verb is unskew.mapInArrow else rows.schema
        for _ in range(2):
            assert verb(rows, function, schema, **given).count() == 60
    assert ["an earlier run" in line for line in said] == [False, True, False, True]


@pytest.mark.usefixtures("memory")
def test_a_short_job_is_left_to_spark(rows, monkeypatch):
    monkeypatch.setattr(known_costs, "SHORT", 1e6)
    said: list[str] = []
    for _ in range(2):
        mapped = unskew.mapInArrow(
            rows, seen, SCHEMA, cost="id", workers=3, name="short", say=said.append
        )
        assert mapped.count() == 100
    assert said[1].startswith("as is: an earlier run took")


def test_without_a_memory_costs_by_key_stay_unknown(rows):
    said: list[str] = []
    mapped = unskew.mapInArrow(rows, seen, SCHEMA, cost_key="key", say=said.append)
    assert mapped.count() == 100
    assert "unskew.remember would keep it" in said[0]
