"""The report of one slot on one batch: totals, and the cost and state size of its keys."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unskew._spark.monitoring.hot_keys import key_at, top

MOST_KEYS = 4096
"""Keys that a slot lists at most, the costliest; the others are summed."""


@dataclass(frozen=True, slots=True)
class SlotTotals:
    """Totals of one slot in one batch."""

    slot: int
    rows: int
    keys: int
    """Keys with rows or a timer."""
    seconds: float
    """Time in the processor."""
    newest: int | None = None
    """The latest event time, in microseconds."""
    timers: int = 0
    late: int = 0
    """Rows older than the watermark, which were left out."""
    unlisted_seconds: float = 0.0
    unlisted_rows: int = 0
    hot_keys: tuple[tuple[str, int, float], ...] = ()
    """The keys with most rows or seconds, as text, with their rows and seconds."""


@dataclass(frozen=True, slots=True, eq=False)
class SlotReport:
    """The totals, and a row for each key that is listed."""

    totals: SlotTotals
    hashes: NDArray[np.int64]
    rows: NDArray[np.int64]
    seconds: NDArray[np.float64]
    memory: NDArray[np.int64]

    @classmethod
    def of(
        cls,
        slot: int,
        hashes: NDArray[np.int64],
        rows: NDArray[np.int64],
        seconds: NDArray[np.float64],
        memory: NDArray[np.int64],
        newest: int | None,
        timers: int,
        late: int,
        keys: Sequence[pa.Array] = (),
    ) -> SlotReport:
        """List the costliest keys, all of them if they are few; `keys` are their values."""
        listed = np.sort(np.argsort(-seconds, kind="stable")[:MOST_KEYS])
        totals = SlotTotals(
            slot,
            rows=int(rows.sum()),
            keys=int(hashes.size),
            seconds=float(seconds.sum()),
            newest=newest,
            timers=timers,
            late=late,
            unlisted_seconds=max(0.0, float(seconds.sum() - seconds[listed].sum())),
            unlisted_rows=int(rows.sum() - rows[listed].sum()),
            hot_keys=_hot_keys(keys, rows, seconds) if keys else (),
        )
        return cls(totals, hashes[listed], rows[listed], seconds[listed], memory[listed])

    def to_bytes(self) -> bytes:
        """One Arrow stream; the totals are in its schema."""
        columns = {
            "hash": self.hashes, "rows": self.rows, "seconds": self.seconds, "memory": self.memory
        }  # fmt: skip
        batch = pa.record_batch([pa.array(values) for values in columns.values()], list(columns))
        batch = batch.replace_schema_metadata({"totals": json.dumps(asdict(self.totals))})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as writer:
            writer.write_batch(batch)
        return bytes(sink.getvalue())

    @classmethod
    def from_bytes(cls, data: bytes) -> SlotReport:
        """What `to_bytes` wrote."""
        (batch,) = pa.ipc.open_stream(data)
        said = json.loads(batch.schema.metadata[b"totals"])
        hot = tuple((key, rows, seconds) for key, rows, seconds in said.pop("hot_keys"))
        totals = SlotTotals(**said, hot_keys=hot)
        return cls(totals, *(batch[name].to_numpy() for name in batch.schema.names))


def _hot_keys(
    keys: Sequence[pa.Array], rows: NDArray[np.int64], seconds: NDArray[np.float64]
) -> tuple[tuple[str, int, float], ...]:
    places = sorted({*top(rows), *top(seconds)})
    return tuple((key_at(keys, at), int(rows[at]), float(seconds[at])) for at in places)
