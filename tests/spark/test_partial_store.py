"""The store of a replanned stream: every row once, or a typed error that says why not."""

from __future__ import annotations

import itertools
import json
import shutil

import pytest
from pyspark.sql import functions as F
from tests.spark.streams import read_batches, write_batches

import unskew
from unskew._spark.frames import fault_points
from unskew._spark.streaming.replan import partial_store, store_commits
from unskew.errors import StateError

pytestmark = [
    pytest.mark.spark,
    pytest.mark.classic("replanned refuses Spark Connect: its plan is the driver's"),
]

SCHEMA = "word string, id bigint, x bigint"
COMPACTED, COUNT = 2, {"n": unskew.count(), "total": unskew.sum("id")}


@pytest.fixture
def driver(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(partial_store, "COMPACT_AFTER", COMPACTED)
    made = Driver(spark, tmp_path)
    made.query("one")
    yield made
    made.query(None)


class Driver:
    """Calls a stream with batches as Spark would."""

    def __init__(self, spark, folder):
        self.spark, self.folder, self.store = spark, folder, folder / "store"
        (folder / "in").mkdir()

    def query(self, name):
        self.spark.sparkContext.setLocalProperty("sql.streaming.queryId", name)

    def stream(self, *key, schema=SCHEMA, change=lambda rows: rows, **aggregates):
        struct = self.spark.createDataFrame([], schema).schema
        rows = change(read_batches(self.spark, self.folder / "in", struct))
        grouped = unskew.streaming.groupBy(
            rows, *(key or ("word",)), workers=2, scheme="planned-split"
        )
        return grouped.replanned(str(self.store), **(aggregates or COUNT))

    def frame(self, number, schema=SCHEMA):
        return self.spark.createDataFrame(rows_of(number), schema).coalesce(1)

    def fill(self, batches):
        stream = self.stream()
        for number in range(batches):
            stream.process(self.frame(number), number)
        return stream

    def assert_exact(self, stream, batches):
        wanted = {}
        for number in range(batches):
            for word, value, _ in rows_of(number):
                n, total = wanted.get(word, (0, 0))
                wanted[word] = n + 1, total + value
        assert {word: (n, total) for word, n, total in stream.result().collect()} == wanted

    def parts(self):
        return sorted(self.store.rglob("part-*.parquet"))

    def files(self):
        return [path for path in self.store.rglob("*") if path.is_file()]


def rows_of(number):
    first = number * 10
    return [("hot" if at % 2 else f"w{at % 5}", first + at, -1) for at in range(10)]


def checksum_file(path):
    return path.with_name(f".{path.name}.crc")


def deleted(path, content):
    path.unlink()


def emptied(path, content):
    path.write_bytes(b"")


def truncated(path, content):
    path.write_bytes(content[: len(content) // 2])


def flipped(path, content):
    middle = len(content) // 2
    path.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])


DAMAGE = (deleted, emptied, truncated, flipped)


def test_a_damaged_part_file_is_noticed(driver):
    stream = driver.fill(COMPACTED)
    path, again = driver.parts()[0], driver.stream()
    for damage, hadoop in itertools.product(DAMAGE, (True, False)):
        content, checks = path.read_bytes(), checksum_file(path).read_bytes()
        damage(path, content)
        if not hadoop:
            checksum_file(path).unlink()
        with pytest.raises(StateError, match="restore"):
            stream.result()
        with pytest.raises(StateError, match="restore"):  # before the query starts
            again.writeStream  # noqa: B018
        if damage is deleted:
            with pytest.raises(StateError, match="restore"):  # where a compaction reads it
                again.process(driver.frame(COMPACTED), COMPACTED)
        path.write_bytes(content)
        checksum_file(path).write_bytes(checks)
    again.process(driver.frame(COMPACTED), COMPACTED)
    driver.assert_exact(stream, COMPACTED + 1)


def test_a_damaged_commit_is_noticed(driver):
    stream = driver.fill(2)
    newest = max((driver.store / "commits").glob("*.json"))
    content, checks = newest.read_bytes(), checksum_file(newest).read_bytes()
    for damage, hadoop in itertools.product(DAMAGE, (True, False)):
        damage(newest, content)
        if not hadoop:
            checksum_file(newest).unlink()
        with pytest.raises(StateError, match="restore"):
            driver.stream().process(driver.frame(2), 2)
        newest.write_bytes(content)
        checksum_file(newest).write_bytes(checks)
    driver.stream().process(driver.frame(2), 2)
    driver.assert_exact(stream, 3)


def test_a_store_of_another_format_is_refused(driver, monkeypatch):
    driver.fill(1)
    monkeypatch.setattr(store_commits, "FORMAT", store_commits.FORMAT + 1)
    with pytest.raises(StateError, match=r"has format \d and this unskew reads format \d"):
        driver.stream().result()
    shutil.rmtree(driver.store)
    (driver.store / "batch=0").mkdir(parents=True)
    with pytest.raises(StateError, match="earlier version"):
        driver.stream().process(driver.frame(0), 0)


def test_another_query_is_refused(driver):
    driver.fill(1)
    driver.query("two")
    for number in (0, 1):
        with pytest.raises(StateError, match="belongs to query one, but this is two"):
            driver.stream().process(driver.frame(5), number)
    driver.query("one")
    stream = driver.stream()
    driver.assert_exact(stream, 1)
    with pytest.raises(StateError, match="ends with batch 0, but the query continues with batch 2"):
        stream.process(driver.frame(2), 2)


OTHERS = {
    "column": ("word", SCHEMA, {"n": unskew.count(), "total": unskew.sum("x")}),
    "order": ("word", SCHEMA, {"total": unskew.sum("id"), "n": unskew.count()}),
    "aggregate": ("word", SCHEMA, {"n": unskew.count(), "total": unskew.top_k("id", 2)}),
    "fewer": ("word", SCHEMA, {"n": unskew.count()}),
    "type": ("word", SCHEMA.replace("id bigint", "id double"), COUNT),
    "key": ("x", SCHEMA, COUNT),
    "type of key": ("word", SCHEMA.replace("string", "binary"), COUNT),
}


def test_another_result_is_refused(driver):
    driver.fill(1)
    for key, schema, aggregates in OTHERS.values():
        other = driver.stream(key, schema=schema, **aggregates)
        batch = driver.spark.createDataFrame([], schema)
        with pytest.raises(StateError, match=r"holds .* but this query"):
            other.process(batch, 1)
        with pytest.raises(StateError, match=r"holds .* but this query"):
            other.result()
        with pytest.raises(StateError, match=r"holds .* but this query"):
            other.writeStream  # noqa: B018
    driver.assert_exact(driver.stream(), 1)
    renamed = driver.stream(rows=unskew.count(), ids=unskew.sum("id")).result()
    assert renamed.columns == ["word", "rows", "ids"]


def test_a_store_may_be_on_any_file_system_of_hadoop(driver, tmp_path):
    link = "fs.viewfs.mounttable.mounted.link./disk"
    driver.spark.conf.set(link, tmp_path.as_uri())
    try:
        driver.store = "viewfs://mounted/disk/store"
        driver.assert_exact(driver.fill(COMPACTED + 1), COMPACTED + 1)
    finally:
        driver.spark.conf.unset(link)
    assert list((tmp_path / "store" / "commits").glob("*.json"))


class KilledError(Exception):
    pass


def test_a_failure_between_any_two_writes(driver):
    # Each point before, at and after a compaction.
    points = [point for point in partial_store.POINTS for _ in range(COMPACTED)]
    failing = dict(enumerate(points, start=1))

    def die(point, batch):
        if failing.get(batch) == point:
            del failing[batch]
            raise KilledError(point)

    stop = fault_points.wait_at_points(die)
    try:
        stream = driver.stream()
        for number in range(len(points) + 1):
            if number in failing:
                with pytest.raises(KilledError):
                    stream.process(driver.frame(number), number)
                stream = driver.stream()
            stream.process(driver.frame(number), number)
            stream.process(driver.frame(number), number)  # Spark had not heard of its end
    finally:
        stop()
    assert not failing
    driver.assert_exact(stream, len(points) + 1)


def test_the_number_of_files_stays_bounded(driver):
    stream, counts, first = driver.stream(), [], None
    for number in range(4 * COMPACTED):
        stream.process(driver.frame(number), number)
        counts.append(len(driver.files()))
        if number == COMPACTED - 1:
            first = stream.result()
        if number == COMPACTED + 1:  # What was handed out before a compaction can be read after it.
            assert first.agg(F.sum("n")).head()[0] == 10 * COMPACTED
    cycles = [counts[at : at + COMPACTED] for at in range(0, len(counts), COMPACTED)]
    assert cycles[-1] == cycles[-2]
    driver.assert_exact(stream, 4 * COMPACTED)


def run(stream, folder, *, fails=False):
    writer = stream.writeStream.option("checkpointLocation", str(folder))
    query = writer.trigger(availableNow=True).start()
    if fails:
        with pytest.raises(Exception, match="StateError"):
            query.awaitTermination()
    else:
        query.awaitTermination()


def test_empty_batches_restarts_and_replays(driver, tmp_path):
    def stream():
        return driver.stream(change=lambda rows: rows.where("x < 0"))

    def write(*batches):
        write_batches(driver.spark, tmp_path / "in", SCHEMA, batches)

    gone = [("hot", 1, 1)]
    for batches in ([gone], [[], rows_of(0), gone], [gone, rows_of(1)]):
        write(*batches)
        run(stream(), tmp_path / "checkpoint")
    driver.assert_exact(stream(), 2)
    # Spark had not noted the end of its last batch, and repeats it.
    last = max(
        (tmp_path / "checkpoint" / "commits").glob("[0-9]*"), key=lambda each: int(each.name)
    )
    for path in (last, checksum_file(last)):
        path.unlink()
    run(stream(), tmp_path / "checkpoint")
    driver.assert_exact(stream(), 2)
    run(stream(), tmp_path / "another", fails=True)
    driver.assert_exact(stream(), 2)
    commits = sorted((driver.store / "commits").glob("*.json"))
    assert json.loads(commits[-1].read_text().splitlines()[0])["batch"] == int(last.name)


@pytest.mark.parametrize(("key", "value"), [("slot", "state"), ("state", "slot")])
def test_columns_may_have_the_store_s_names(driver, key, value):
    schema = f"`{key}` string, `{value}` bigint, x bigint"
    stream = driver.stream(key, schema=schema, n=unskew.count(), total=unskew.sum(value))
    stream.process(driver.frame(0, schema), 0)
    driver.assert_exact(stream, 1)
