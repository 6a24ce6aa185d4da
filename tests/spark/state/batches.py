"""Drives a stateful stream batch by batch without a streaming query, which would take seconds more.

Spark calls a `StateRun` with a batch and its number; so does `Driver`, and a restart is a new run
on the same folder.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession

from unskew._spark.frames.files import Files
from unskew._spark.stateful.controller import Controller
from unskew._spark.stateful.run import StateRun
from unskew._spark.stateful.stream import read_state, stateful
from unskew.partitioners import ConsistentRing, RoutingTable

SCHEMA = "id bigint, word string, part int, at timestamp"
OUTPUT = "word string, part int, ids array<bigint>, total bigint, what string"
STATE = "total bigint, ids array<bigint>"

CLASSIC = pytest.mark.classic("stateful refuses Spark Connect, which hides the driver's JVM")


def remembering():
    """Keeps the ids of all rows: a lost or doubled row shows. Made here, so that it travels."""
    from unskew._spark.stateful.processor import Processor

    class Remembering(Processor):
        def process(self, key, rows, state):
            ids = sorted(rows["id"].to_pylist())
            kept = state or {"total": 0, "ids": []}
            total = kept["total"] + len(ids)
            row = {"word": key[0], "part": key[1], "ids": ids, "total": total, "what": "rows"}
            forget = any(each % 13 == 0 for each in ids)
            return [row], None if forget else {"total": total, "ids": kept["ids"] + ids}

        def on_timer(self, key, state, now):
            row = {"word": key[0], "part": key[1], "ids": state["ids"], "total": state["total"]}
            return [{**row, "what": "timer"}], None

    return Remembering()


@dataclass
class Reference:
    """The same in plain Python, batch by batch."""

    delay: float | None = None
    timeout: float | None = None
    state: dict = field(default_factory=dict)
    output: list = field(default_factory=list)
    newest: float | None = None

    def batch(self, rows: list[tuple]) -> None:
        now = None if self.newest is None or self.delay is None else self.newest - self.delay
        if now is not None and self.timeout is not None:
            for key, (total, ids, due) in list(self.state.items()):
                if due is not None and due <= now:
                    self.output.append((*key, tuple(ids), total, "timer"))
                    del self.state[key]
        groups: dict = {}
        for number, word, part, at in rows:
            if now is not None and at is not None and at < now:
                continue
            groups.setdefault((word, part), []).append((number, at))
        for key, found in groups.items():
            self._process(key, sorted(number for number, _ in found), [at for _, at in found])
        times = [at for _, _, _, at in rows if at is not None]
        if self.delay is not None and times:
            self.newest = max([*times, *([] if self.newest is None else [self.newest])])

    def _process(self, key, ids, times) -> None:
        total, kept, due = self.state.pop(key, (0, [], None))
        total += len(ids)
        self.output.append((*key, tuple(ids), total, "rows"))
        known = [at for at in times if at is not None]
        if self.timeout is not None and known:
            due = max(max(known) + self.timeout, due or 0.0)
        if not any(each % 13 == 0 for each in ids):
            self.state[key] = (total, kept + ids, due)


@dataclass
class Driver:
    spark: SparkSession
    folder: Path
    settings: dict
    delivered: dict = field(default_factory=dict)
    processor: object = field(default_factory=remembering)

    def start(self, workers: int) -> StateRun:
        """As a driver that has just come up."""
        rows = self.spark.readStream.schema(SCHEMA).parquet(str(self.folder))
        stream = stateful(
            rows, ["word", "part"], self.processor, schema=OUTPUT, state_schema=STATE,
            checkpoint=str(self.folder), workers=workers, cost="rows", **self.settings,
        )  # fmt: skip
        self.spark.sparkContext.setLocalProperty("sql.streaming.queryId", "query 1")
        state = Files(self.spark, f"{self.folder}/state")
        return StateRun(stream.config, state, Files(self.spark, f"{self.folder}/spark"), self.sink)

    def sink(self, output: DataFrame, batch: int) -> None:
        # By batch: what is delivered again replaces what came before.
        self.delivered[batch] = [
            (row.word, row.part, tuple(row.ids), row.total, row.what) for row in output.collect()
        ]

    def frame(self, rows: list[tuple]) -> DataFrame:
        import datetime

        def moment(at):
            return None if at is None else datetime.datetime.fromtimestamp(at, datetime.UTC)

        return self.spark.createDataFrame([(*row[:3], moment(row[3])) for row in rows], SCHEMA)

    def assert_same(self, reference: Reference) -> None:
        found = Counter(row for rows in self.delivered.values() for row in rows)
        assert found == Counter(reference.output)
        state = {
            (row.word, row.part): (row.total, sorted(row.ids))
            for row in read_state(self.spark, str(self.folder)).collect()
        }
        assert state == {
            key: (total, sorted(ids)) for key, (total, ids, _) in reference.state.items()
        }


def random_batches(seed: int, count: int, most: int = 30) -> list[list[tuple]]:
    """Rows (id, word, part, at) with hot, null and rare keys; times go on, with stragglers."""
    draw = random.Random(seed)
    number, batches = 0, []
    for batch in range(count):
        rows = []
        for _ in range(draw.randint(0 if batch % 3 == 2 else 1, most)):
            word = draw.choice(["hot", "hot", None, "", "Ω", f"w{draw.randrange(12)}"])
            late = draw.random() < 0.2
            at = None if draw.random() < 0.1 else 10.0 * batch + draw.random() * 10 - 25 * late
            rows.append((number, word, draw.choice([None, 1, 2]), at))
            number += 1
        batches.append(rows)
    return batches


def shuffle_tables(monkeypatch, seed: int) -> None:
    """Plans that make no sense: every second batch any keys go anywhere."""
    draw = np.random.default_rng(seed)

    def plan(self, table, workers):
        statistics = self.statistics(table)
        if statistics is None or (draw.random() < 0.5 and table.workers == workers):
            return None
        chosen = statistics.keys[draw.random(statistics.size) < 0.5]
        owners = draw.integers(0, workers, chosen.size).astype(np.int32)
        return SimpleNamespace(table=RoutingTable(workers, chosen, owners, ConsistentRing(workers)))

    monkeypatch.setattr(Controller, "plan", plan)
