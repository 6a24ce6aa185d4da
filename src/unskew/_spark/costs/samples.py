"""Cost samples: what one task measured, as bytes, and what all tasks of a job measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from unskew.kernels import KeyHashes
from unskew.kernels.cost_pair import Floats
from unskew.sketches.cost_pair import CostPair, CostShape

SAMPLES = 256
"""Timed rows that a task sends unaggregated, to test the matrices on."""


@dataclass(frozen=True, eq=False, slots=True)
class TaskCosts:
    """One task's matrices, sample of timed rows, and rows and mean cost by input partition."""

    pair: CostPair
    keys: KeyHashes
    seconds: Floats
    rows: Mapping[int, int]
    """Rows by the input partition that they come from."""
    means: Mapping[int, float]
    """Mean seconds of a timed row, by input partition."""

    @classmethod
    def of(
        cls,
        shape: CostShape,
        keys: KeyHashes,
        origins: Floats,
        seconds: Floats,
        rows: Mapping[int, int],
    ) -> TaskCosts:
        """From timed rows, and the number of all rows by input partition."""
        pair = CostPair(shape)
        pair.add(keys, seconds)
        chosen = np.unique(
            np.linspace(0, max(keys.size - 1, 0), min(SAMPLES, keys.size), dtype=int)
        )
        means = {
            int(origin): float(seconds[origins == origin].mean()) for origin in np.unique(origins)
        }
        return cls(pair, keys[chosen], seconds[chosen], dict(rows), means)

    def to_bytes(self) -> bytes:
        """Serialise as one Arrow record."""
        record = {
            "shape": [self.pair.shape.epsilon, self.pair.shape.delta, float(self.pair.shape.seed)],
            "counts": self.pair.counts.ravel(),
            "costs": self.pair.costs.ravel(),
            "keys": self.keys,
            "seconds": self.seconds,
            "parts": np.array(list(self.rows), dtype=np.int64),
            "rows": np.array(list(self.rows.values()), dtype=np.int64),
            "means": np.array([self.means.get(part, np.nan) for part in self.rows]),
        }
        batch = pa.record_batch([pa.array([values]) for values in record.values()], list(record))
        sink = pa.BufferOutputStream()
        # Most cells of a task's matrices are empty.
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
            writer.write_batch(batch)
        return bytes(sink.getvalue())

    @classmethod
    def from_bytes(cls, data: bytes) -> TaskCosts:
        """Read what `to_bytes` wrote."""
        (batch,) = pa.ipc.open_stream(data)
        record = {name: batch[name][0].values.to_numpy() for name in batch.schema.names}
        epsilon, delta, seed = record["shape"].tolist()
        parts = record["parts"].tolist()
        timed = ~np.isnan(record["means"])
        return cls(
            CostPair(CostShape(epsilon, delta, int(seed)), record["counts"], record["costs"]),
            record["keys"],
            record["seconds"],
            dict(zip(parts, record["rows"].tolist(), strict=True)),
            {
                part: float(mean)
                for part, mean, ok in zip(parts, record["means"], timed, strict=True)
                if ok
            },
        )


@dataclass(frozen=True, eq=False, slots=True)
class JobCosts:
    """The measurements of all tasks of a job."""

    pair: CostPair
    keys: KeyHashes
    seconds: Floats
    loads: Floats
    """Seconds of work in each input partition."""
    rows: int

    @classmethod
    def of(cls, shape: CostShape, tasks: Iterable[TaskCosts]) -> JobCosts:
        """Merge; rows of a partition that no task timed count with the mean cost."""
        pair, rows, spent, timed = CostPair(shape), {}, {}, {}  # type: ignore[var-annotated]
        keys, seconds = [np.empty(0, np.uint64)], [np.empty(0)]
        for task in tasks:
            pair = pair.merge(task.pair)
            keys.append(task.keys)
            seconds.append(task.seconds)
            for part, count in task.rows.items():
                rows[part] = rows.get(part, 0) + count
                if part in task.means:
                    spent[part] = spent.get(part, 0.0) + task.means[part] * count
                    timed[part] = timed.get(part, 0) + count
        loads = [
            spent[part] / timed[part] * rows[part] if part in timed else pair.mean * rows[part]
            for part in sorted(rows)
        ]
        return cls(
            pair,
            np.concatenate(keys),
            np.concatenate(seconds),
            np.array(loads, dtype=np.float64),
            sum(rows.values()),
        )
