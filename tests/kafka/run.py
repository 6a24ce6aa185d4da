"""Streams from a real Kafka broker and back, with a driver killed and the broker restarted.

    python -m tests.kafka.run

Fetches the jars, starts a broker, fills a topic of 8 partitions and runs `driver.py`: counts
per key (mergeable work) and rows numbered per key (state that moves), both written to Kafka and to
Parquet. Every row is looked for by its id. Exits with 1 if anything is lost, doubled or wrong;
where the jars cannot be had it says why and exits with 0.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds
from tests.kafka.jars import Jars, UnavailableError, fetch

from unskew.testing.cluster.kafka_broker import KafkaBroker
from unskew.testing.cluster.processes import Started, stop_on_sigterm

ROOT = Path(__file__).parents[2]
PARTITIONS = 8
TOPICS = ("rows", "counts", "numbered")
PATIENCE = 600.0
IDLE = 10_000
"""Milliseconds without a record after which a topic has been read to its end."""


@dataclass
class Feed:
    """Puts rows with skewed keys into the topic; remembers them."""

    broker: str
    draw: random.Random
    keys: list[str] = field(default_factory=list)

    def put(self, rows: int) -> None:
        """Send rows and wait until the broker has them."""
        from kafka import KafkaProducer

        producer = KafkaProducer(bootstrap_servers=self.broker, acks="all", retries=20)
        for _ in range(rows):
            key = "hot" if self.draw.random() < 0.3 else f"key-{self.draw.randrange(100)}"
            # Rows of a hot key come from all partitions, as the papers' sources do.
            partition = len(self.keys) % PARTITIONS
            producer.send("rows", str(len(self.keys)).encode(), key.encode(), partition=partition)
            self.keys.append(key)
        producer.flush()
        producer.close()


@dataclass
class Driver:
    """The Spark driver, started again when it was killed or gave up."""

    folder: Path
    broker: KafkaBroker
    jars: Jars
    starts: int = 0
    started: Started | None = None

    def start(self) -> None:
        """A process group of its own."""
        command = [sys.executable, str(Path(__file__).with_name("driver.py")), str(self.folder)]
        command += [self.broker.address, str(self.jars.connector)]
        environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
        self.started = Started.of(command, environment, self.folder / "driver.log")
        self.starts += 1

    def kill(self) -> None:
        """Driver and JVM at once, with SIGKILL."""
        assert self.started is not None
        self.started.signal(signal.SIGKILL)
        self.started.process.wait()

    def batches(self) -> int:
        """How many batches both streams have written."""
        counts, numbered = (
            len(list((self.folder / each).glob("batch=*/_SUCCESS"))) for each in TOPICS[1:]
        )
        return min(counts, numbered)

    def run_until(self, done: Callable[[], bool], what: str) -> None:
        """Keep a driver running until `done`."""
        end = time.monotonic() + PATIENCE
        while not done():
            if self.started is None or not self.started.is_up():
                self.start()
            if time.monotonic() > end:
                raise TimeoutError(f"{what} did not happen: see {self.folder}/driver.log")
            time.sleep(0.2)

    def finish(self) -> None:
        """Let both streams come to their ends."""
        (self.folder / "over").touch()
        while self.started is None or self.started.process.wait(PATIENCE) != 0:
            self.start()


def disturbed_run(driver: Driver, feed: Feed, rows: int) -> None:
    """Four parts of the rows; between them a killed driver and a restarted broker."""
    part = rows // 4
    feed.put(part)
    driver.run_until(lambda: driver.batches() >= 1, "a first batch")
    driver.kill()
    print(f"driver killed after {driver.batches()} batches", flush=True)
    feed.put(part)
    before = driver.batches()
    driver.run_until(lambda: driver.batches() > before, "a batch after the kill")
    driver.broker.stop()
    driver.broker.start()
    print(f"broker restarted after {driver.batches()} batches", flush=True)
    feed.put(part)
    before = driver.batches()
    driver.run_until(lambda: driver.batches() > before, "a batch after the restart")
    feed.put(rows - 3 * part)
    driver.finish()


def topic(broker: str, name: str) -> list[dict[str, Any]]:
    """All records of a topic."""
    from kafka import KafkaConsumer

    consumer = KafkaConsumer(
        name, bootstrap_servers=broker, auto_offset_reset="earliest", consumer_timeout_ms=IDLE
    )
    records = [json.loads(record.value) for record in consumer]
    consumer.close()
    return records


def check(feed: Feed, folder: Path, broker: str) -> int:
    """Print the figures; how many of them are wrong."""
    print(f"rows in: {len(feed.keys)}")
    sent = topic(broker, "numbered")
    again = len(sent) - len(distinct(sent))
    problems = check_rows("Parquet", stored(folder / "numbered"), len(feed.keys))
    problems += check_rows("Kafka", distinct(sent), len(feed.keys))
    print(f"rows that Kafka got again, with the same content: {again}")
    problems += check_counts("Parquet", stored(folder / "counts"), Counter(feed.keys))
    return problems + check_counts("Kafka", topic(broker, "counts"), Counter(feed.keys))


def check_rows(where: str, rows: list[dict[str, Any]], wanted: int) -> int:
    """Each row once, and numbered by its key's state."""
    ids = Counter(row["id"] for row in rows)
    lost = sum(each not in ids for each in range(wanted))
    doubled, wrong = ids.total() - len(ids), wrong_numbers(rows)
    print(
        f"rows out, {where}: {len(rows)}; lost: {lost}; duplicated: {doubled}; "
        f"keys with wrong state: {wrong}"
    )
    return lost + doubled + wrong


def check_counts(where: str, rows: list[dict[str, Any]], wanted: Counter[str]) -> int:
    """The last count of each key, which is its highest."""
    last: Counter[str] = Counter()
    for row in rows:
        last[row["key"]] = max(row["n"], last[row["key"]])
    lost, doubled = (wanted - last).total(), (last - wanted).total()
    print(f"rows counted, {where}: {last.total()}; lost: {lost}; duplicated: {doubled}")
    return lost + doubled


def stored(folder: Path) -> list[dict[str, Any]]:
    """All rows of all batches in Parquet."""
    rows: list[dict[str, Any]] = ds.dataset(str(folder), format="parquet").to_table().to_pylist()
    return rows


def distinct(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Spark's sink for Kafka delivers at least once: a batch that comes again is sent again."""
    return list({(row["key"], row["id"], row["n"]): row for row in records}.values())


def wrong_numbers(rows: list[dict[str, Any]]) -> int:
    """Keys whose rows are not numbered 1, 2, 3 …"""
    numbers: dict[str, list[int]] = {}
    for row in rows:
        numbers.setdefault(row["key"], []).append(row["n"])
    return sum(sorted(each) != list(range(1, len(each) + 1)) for each in numbers.values())


def main() -> int:
    """Fetch, start, fill, run, disturb, check, stop."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--jars", type=Path, default=ROOT / ".kafka", help="where jars are kept")
    parser.add_argument("--rows", type=int, default=12_000)
    given = parser.parse_args()
    stop_on_sigterm()
    try:
        jars = fetch(given.jars.absolute())
    except UnavailableError as error:
        print(f"skipped: {error}")
        return 0
    print(jars.versions, flush=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with KafkaBroker(jars.broker, folder / "broker", partitions=PARTITIONS) as broker:
            broker.create_topics(*TOPICS)
            feed = Feed(broker.address, random.Random(1))
            driver = Driver(folder, broker, jars)
            try:
                disturbed_run(driver, feed, given.rows)
                print(f"driver kills: 1; broker restarts: 1; driver starts: {driver.starts}")
                return 1 if check(feed, folder, broker.address) else 0
            except (TimeoutError, subprocess.TimeoutExpired):
                print((folder / "driver.log").read_text()[-4000:], file=sys.stderr)
                raise
            finally:
                if driver.started is not None and driver.started.is_up():
                    driver.kill()


if __name__ == "__main__":
    raise SystemExit(main())
