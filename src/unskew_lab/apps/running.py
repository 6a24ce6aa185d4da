"""Runs of an app by a scheme: time, balance, and comparison with the reference."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import unskew
from unskew.metrics import max_over_mean
from unskew.partitioners import PLANNED
from unskew.rebalancing import Rebalancer
from unskew_lab.apps.asking import Asked
from unskew_lab.apps.contract import Answer, App
from unskew_lab.apps.replaying import Replay, balance

SHOWN = 10


@dataclass(frozen=True)
class Run:
    """The result of one run."""

    app: str
    scheme: str
    workers: int
    rows: int
    """That the scheme has spread."""
    seconds: float
    """Planning included, where the scheme plans."""
    reference_seconds: float
    max_over_mean: float
    replicas: int
    """Of a stream, in the mean batch."""
    matches_reference: bool
    batches: int
    """Micro-batches; 0 for a run on a table."""
    latency: float | None
    """Seconds from the start of a micro-batch to its result, in the mean."""
    latency_max: float | None
    migrated_keys: int | None
    """That changed worker with their state, where there is state that can."""
    migrated_bytes: int | None
    answer: Answer

    def as_dict(self) -> dict[str, Any]:
        """The fields of `unskew run --json`."""
        fields = {name: value for name, value in vars(self).items() if name != "answer"}
        result = [in_json(row) for row in self.answer.rows[:SHOWN]]
        return {**fields, "figures": dict(self.answer.figures), "result": result}


def in_json(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row for JSON; values that JSON cannot represent become text."""
    return {name: value if _has_form(value) else str(value) for name, value in row.items()}


def _has_form(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, int | str)


class Runner:
    """Runs one app on one input by several schemes."""

    def __init__(
        self,
        app: App,
        rows: DataFrame,
        workers: int,
        batches: int = 0,
        folder: Path | None = None,
        cost: float = 0.0,
        period: int = 0,
    ) -> None:
        """With `batches` the rows become a stream; its files and checkpoints go to `folder`.

        Each row of it takes `cost` seconds of emulated work, where the app keeps state; workers
        send partial results on every `period` batches, where the app has such.
        """
        self.app, self.workers = app, workers
        self.prepared = app.prepare(rows)
        self.replay: Replay | None = None
        if folder is not None and batches:
            self.replay = Replay.of(self.prepared, batches, folder, app.order, cost, period)
            self.prepared = self.replay.rows
        self.routed = app.routed(self.prepared)
        self.rows = self.routed.count()
        self.reference, self.reference_seconds = _timed(self._reference)

    def time_reference_again(self) -> None:
        """Run the reference once more and keep its shortest time."""
        _, seconds = _timed(self._reference)
        self.reference_seconds = min(self.reference_seconds, seconds)

    def run(self, scheme: str | Asked) -> Run:
        """Run the app by one scheme."""
        asked = Asked.of(self.app, scheme, {}, self.workers) if isinstance(scheme, str) else scheme
        planned = asked.name in ("auto", *PLANNED)
        answer, seconds = _timed(
            lambda: self._answer(self._plan(asked) if planned else asked.scheme)
        )
        even, replicas = self._balance(answer, asked)
        took = [each.seconds for each in answer.batches]
        moves = any(each.table_size is not None for each in answer.batches)
        return Run(
            app=self.app.name,
            scheme=asked.name,
            workers=self.workers,
            rows=self.rows,
            seconds=seconds,
            reference_seconds=self.reference_seconds,
            max_over_mean=even,
            replicas=replicas,
            matches_reference=self.app.agrees(answer, self.reference),
            batches=len(took),
            latency=sum(took) / len(took) if took else None,
            latency_max=max(took, default=None),
            migrated_keys=sum(each.migrated_keys for each in answer.batches) if moves else None,
            migrated_bytes=sum(each.migrated_bytes for each in answer.batches) if moves else None,
            answer=answer,
        )

    def _reference(self) -> Any:
        if self.replay is not None and self.app.stream_reference is not None:
            return self.app.stream_reference(self.replay)
        return self.app.reference(self.prepared)

    def _answer(self, scheme: Any) -> Answer:
        if self.replay is not None:
            assert self.app.stream is not None
            return self.app.stream(self.replay, scheme, self.workers)
        assert self.app.run is not None
        return self.app.run(self.prepared, scheme, self.workers)

    def _plan(self, asked: Asked) -> unskew.Plan:
        assert not isinstance(asked.scheme, Rebalancer)  # Apps with state report their balance.
        return unskew.plan(
            self.routed,
            self.app.key,
            self.workers,
            need=self.app.need,
            scheme=asked.scheme,
            **asked.settings,
        )

    def _balance(self, answer: Answer, asked: Asked) -> tuple[float, int]:
        """Max/mean and replicas, as the app measured them or from an extra pass."""
        if answer.batches:
            pairs = [each.replicas or 0 for each in answer.batches]
            return balance(answer.batches), round(sum(pairs) / len(pairs))
        loads, replicas = answer.loads, answer.replicas
        if loads is None or replicas is None:
            loads, replicas = self._spread(asked)
        return max_over_mean(loads), replicas

    def _spread(self, asked: Asked) -> tuple[np.ndarray[Any, np.dtype[np.float64]], int]:
        """Rows on each worker and (worker, key) pairs, from an extra pass that is not timed."""
        routed = self._plan(asked).with_worker(self.routed)
        worker = routed.columns[-1]
        pairs = routed.groupBy(worker, *self.app.key).agg(F.count(F.lit(1)).alias("rows"))
        each = pairs.groupBy(worker).agg(F.sum("rows").alias("rows"), F.count("*").alias("pairs"))
        loads = np.zeros(self.workers)
        found = each.collect()
        for row in found:
            loads[row[worker]] = row["rows"]
        return loads, sum(row["pairs"] for row in found)


def _timed(job: Callable[[], Any]) -> tuple[Any, float]:
    started = time.perf_counter()
    result = job()
    return result, time.perf_counter() - started
