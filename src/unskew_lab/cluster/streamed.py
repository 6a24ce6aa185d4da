"""A costly count by key as a running stream: each worker on its own slot, under one scheme."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from unskew.partitioners import KeyGrouping, PartialKey, Partitioner, ShuffleGrouping
from unskew_lab.cluster.inputs import ZipfBatches, warm_up
from unskew_lab.cluster.machines import SLOTS, running
from unskew_lab.cluster.predictions import (
    Loads,
    effective_virtual_workers,
    effective_workers,
    loads_of,
    mean_wait,
    mean_wait_virtual,
)
from unskew_lab.pacing import PacedCount, done_in
from unskew_lab.papers.specification import Row

if TYPE_CHECKING:
    from unskew.streaming import BatchProgress

EQUAL = (1.0,) * len(SLOTS)
VIRTUAL = 100
"""Virtual workers per worker: those with which CG does best in the paper."""

Speeds = tuple[tuple[float, ...], ...]


def scheme_of(name: str, workers: int) -> Partitioner | None:
    """The paper's scheme, with independent hashes; None for CG, whose map is learned."""
    made: dict[str, Partitioner | None] = {
        "KG": KeyGrouping(workers),
        "PKG": PartialKey(workers, distinct=False),
        "SG": ShuffleGrouping(workers),
        "CG": None,
    }
    return made[name]


@dataclass(frozen=True)
class Streamed:
    """A stream on `workers` pinned workers, each row costing `delay` ms on a machine of speed 1.

    The first `grace` batches do not count. `speeds` are those of the machines in equal parts of
    the stream.
    """

    stream: ZipfBatches
    scheme: str
    delay: float
    workers: int = sum(SLOTS)
    grace: int = 1
    speeds: Speeds = (EQUAL,)

    def measure(self) -> Sequence[Row]:
        """One row per micro-batch."""
        from unskew.streaming import groupBy

        up = running()
        warm_up(up)
        folder = up.folder / "streamed" / hashlib.sha256(repr(self).encode()).hexdigest()[:12]
        log = folder / "log"
        log.mkdir(parents=True)
        heard: list[BatchProgress] = []

        def hear(record: BatchProgress) -> None:
            heard.append(record)
            up.set_speeds(self.speeds_in(len(heard)))

        up.set_speeds(self.speeds_in(0))
        grouped = groupBy(self.stream.read(up), "key", **self._way())
        work = PacedCount(self.delay / 1000, log=str(log))
        counted = grouped.replanned(str(folder / "store"), feeds=[hear], n=work)
        writer = counted.writeStream.option("checkpointLocation", str(folder / "checkpoint"))
        try:
            writer.trigger(availableNow=True).start().awaitTermination()
        finally:
            up.set_speeds(EQUAL)
        [(counts,)] = counted.result().groupBy().sum("n").collect()
        expected = self.stream.rows * self.stream.batches
        assert counts == expected, f"{counts} of {expected} rows were counted"
        return self.rows(heard, done_in(str(log)))

    def _way(self) -> dict[str, Any]:
        scheme = scheme_of(self.scheme, self.workers)
        if scheme is not None:
            return {"scheme": scheme}
        return {"scheme": "cg", "workers": self.workers, "virtual": VIRTUAL, "distinct": False}

    def speeds_in(self, batch: int) -> tuple[float, ...]:
        """The speeds of the machines in a micro-batch."""
        batch = min(batch, self.stream.batches - 1)
        return self.speeds[batch * len(self.speeds) // self.stream.batches]

    def rows(self, heard: Sequence[BatchProgress], done: Sequence[tuple[float, int]]) -> list[Row]:
        """A row for each batch, of its record and of when rows were done."""
        return [
            {
                "stream": self.stream.name,
                "scheme": self.scheme,
                "delay": self.delay,
                "workers": self.workers,
                "machines": self._machines,
                "grace": cycle.number < self.grace,
                **cycle.row(),
                "predicted": self.predicted,
                "predicted_latency": self.predicted_latency,
            }
            for cycle in cycles(heard, done)
        ]

    @property
    def _machines(self) -> str:
        if len(self.speeds) > 1:
            return "changing"
        return "equal" if self.speeds[0] == EQUAL else "slow"

    @cached_property
    def predicted(self) -> float:
        """How many level workers of speed 1 balance alone makes of the workers."""
        if self._loads is None:
            return effective_virtual_workers(self._slots, VIRTUAL)
        return effective_workers(self._loads, self._slots)

    @cached_property
    def predicted_latency(self) -> float:
        """The mean seconds until a row is done, if balance alone decides."""
        if self._loads is None:
            wait = mean_wait_virtual(self.stream.rows, self._slots, VIRTUAL)
        else:
            wait = mean_wait(self._loads, self._slots)
        return wait * self.delay / 1000

    @cached_property
    def _loads(self) -> list[Loads] | None:
        """Rows of each worker in each batch; None where they follow what workers tell."""
        scheme = scheme_of(self.scheme, self.workers)
        return None if scheme is None else loads_of(scheme, self.stream.hashes())

    @property
    def _slots(self) -> list[float]:
        last = self.speeds[-1]
        return [speed for speed, number in zip(last, SLOTS, strict=True) for _ in range(number)]


@dataclass(frozen=True, slots=True)
class Cycle:
    """One micro-batch, and when its rows were done."""

    number: int
    record: BatchProgress
    latency: float
    """The mean seconds from its begin until a row is done."""
    span: float
    """From the first rows that were done to the last: without planning, routing and storing."""

    def row(self) -> Row:
        """Its figures."""
        return {
            "batch": self.number,
            "rows": self.record.rows,
            "seconds": self.record.seconds,
            "span": self.span,
            "latency": self.latency,
            "replicas": self.record.replicas or 0,
            "max_over_mean": self.record.max_over_mean,
        }


def cycles(heard: Sequence[BatchProgress], done: Sequence[tuple[float, int]]) -> Iterator[Cycle]:
    """The batches of a stream, of their records and of when so many rows were done."""
    times = np.array([at for at, _ in done])
    rows = np.array([number for _, number in done])
    for number, record in enumerate(heard):
        assert record.ended is not None
        begin = record.ended - record.seconds
        here = (times > begin) & (times <= record.ended)
        waits, weights = times[here] - begin, rows[here]
        latency = float(np.average(waits, weights=weights)) if waits.size else 0.0
        span = float(np.ptp(waits)) if waits.size else 0.0
        yield Cycle(number, record, latency, span)
