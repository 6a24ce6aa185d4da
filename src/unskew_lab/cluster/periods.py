"""A costly count whose workers send their counters on once in several micro-batches."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from unskew_lab.cluster.inputs import ZipfBatches, warm_up
from unskew_lab.cluster.machines import Running, running
from unskew_lab.cluster.predictions import effective_workers, loads_of
from unskew_lab.cluster.streamed import cycles, scheme_of
from unskew_lab.pacing import done_in, work_off
from unskew_lab.papers.specification import Row

if TYPE_CHECKING:
    from unskew_lab.apps.aggregation_periods import Counting, PeriodicCounts


@dataclass(frozen=True)
class Periodic:
    """A stream on `workers`, whose counters are merged every `period` batches (0: never)."""

    stream: ZipfBatches
    scheme: str
    delay: float
    workers: int
    period: int
    grace: int = 1

    def measure(self) -> Sequence[Row]:
        """One row per micro-batch, after a few rows of which nothing but compiling is left."""
        up = running()
        warm_up(up)
        mark = up.folder / f"warm-{self.scheme}-{bool(self.period)}"
        if not mark.exists():
            few = replace(self.stream, rows=800, batches=2)
            replace(self, stream=few, delay=0.0, period=min(self.period, 1))._run(up)
            mark.touch()
        return self._run(up)

    def _run(self, up: Running) -> Sequence[Row]:
        from pyspark.sql.types import LongType, StructField

        import unskew
        from unskew_lab.apps.aggregation_periods import PeriodicCounts

        folder = up.folder / "periods" / hashlib.sha256(repr(self).encode()).hexdigest()[:12]
        log = folder / "log"
        log.mkdir(parents=True)
        alike = up.spark.range(1000).selectExpr("id key")
        scheme = scheme_of(self.scheme, self.workers)
        assert scheme is not None, f"{self.scheme} has no map of its own"
        plan = unskew.plan(alike, "key", need="mergeable", scheme=scheme)
        counts = PeriodicCounts(
            StructField("key", LongType()),
            plan,
            str(folder),
            self.period or self.stream.batches + 1,
            paced(str(log), self.delay / 1000),
        )
        writer = counts.routed(self.stream.read(up)).writeStream.foreachBatch(counts.process)
        writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()
        return self.rows(counts, done_in(str(log)))

    def rows(self, counts: PeriodicCounts, done: Sequence[tuple[float, int]]) -> list[Row]:
        """A row for each batch; memory is what workers hold at the end of a period."""
        held = float(np.mean(list(counts.sent.values()))) if counts.sent else self._keys
        heard = [record for _, record in sorted(counts.records.items())]
        return [
            {
                "stream": self.stream.name,
                "scheme": self.scheme,
                "delay": self.delay,
                "workers": self.workers,
                "period": self.period,
                "grace": cycle.number < self.grace,
                **cycle.row(),
                "counters": held,
                "predicted": self.predicted,
            }
            for cycle in cycles(heard, done)
        ]

    @property
    def _keys(self) -> float:
        return float(np.unique(np.concatenate(list(self.stream.ids()))).size)

    @cached_property
    def predicted(self) -> float:
        """How many level workers balance alone makes of the workers."""
        scheme = scheme_of(self.scheme, self.workers)
        assert scheme is not None
        return effective_workers(loads_of(scheme, self.stream.hashes()), [1.0] * self.workers)


def paced(log: str, cost: float) -> Counting:
    """Count rows at `cost` seconds each."""
    from unskew_lab.apps.aggregation_periods import counted

    def slowed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            work_off(log, batch.num_rows, cost)
            yield batch

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return counted(slowed(batches))

    return work
