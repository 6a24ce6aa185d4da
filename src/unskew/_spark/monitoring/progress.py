"""The record of one micro-batch, and its JSON form."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np

from unskew.metrics import max_over_mean


@dataclass(frozen=True, slots=True)
class BatchProgress:
    """One micro-batch as its workers saw it; unknown values are None.

    >>> BatchProgress.of(batch=3, loads=[30, 10], seconds=1.5).max_over_mean
    1.5
    """

    batch: int
    rows: int
    seconds: float
    """From the start of the batch to its end."""
    workers: int
    loads: tuple[float, ...]
    """What each worker was given: rows, or their cost where a cost is measured."""
    max_over_mean: float
    cost: float | None = None
    """The cost of all rows, where it is measured apart from their number."""
    replicas: int | None = None
    """Pairs of worker and key in this batch."""
    table_size: int | None = None
    """Keys that the routing table names."""
    migrated_keys: int = 0
    migrated_bytes: int = 0
    fetched_rows: int = 0
    """Rows of state that executors lacked and read from the checkpoint."""
    fetched_bytes: int = 0
    rebalance_seconds: float = 0.0
    hottest: tuple[tuple[str, float], ...] = ()
    """The heaviest keys, as text, and their load; with several tasks a lower bound of it."""
    ended: float | None = None
    """When the batch ended, in seconds since 1970."""
    timers: int = 0
    """Keys whose timeout ended."""
    late: int = 0
    """Rows older than the watermark, which were left out."""

    @classmethod
    def of(
        cls, batch: int, loads: Sequence[float], seconds: float, **figures: Any
    ) -> BatchProgress:
        """The record of a batch; rows are the sum of `loads` unless they are given."""
        rows = figures.pop("rows", None)
        figures.setdefault("ended", round(time.time(), 3))
        return cls(
            batch=batch,
            rows=int(sum(loads)) if rows is None else rows,
            seconds=seconds,
            workers=len(loads),
            loads=tuple(float(load) for load in loads),
            max_over_mean=max_over_mean(np.asarray(loads, dtype=np.float64)),
            **figures,
        )

    def as_dict(self) -> dict[str, Any]:
        """The record as a JSON object."""
        return {
            **asdict(self), "loads": list(self.loads), "hottest": list(map(list, self.hottest))
        }  # fmt: skip

    def to_json(self) -> str:
        """One line of a file of JSON lines."""
        return json.dumps(self.as_dict())

    @classmethod
    def from_json(cls, line: str) -> BatchProgress:
        """Read a record; unknown fields, from later versions, are ignored.

        >>> record = BatchProgress.of(batch=3, loads=[30, 10], seconds=1.5, replicas=7)
        >>> BatchProgress.from_json(record.to_json()) == record
        True
        """
        known = {field.name for field in fields(cls)}
        found = {name: value for name, value in json.loads(line).items() if name in known}
        hottest = tuple((key, load) for key, load in found.get("hottest", ()))
        return cls(**{**found, "loads": tuple(found["loads"]), "hottest": hottest})

    def __str__(self) -> str:
        """One line for a log."""
        said = f"batch {self.batch}: {self.rows} rows in {self.seconds:.2f} s"
        if self.rows:
            said += f", max/mean {self.max_over_mean:.3f} on {self.workers} workers"
        if self.replicas is not None:
            said += f", {self.replicas} replicas"
        if self.migrated_keys:
            said += f", {self.migrated_keys} keys ({self.migrated_bytes} bytes) moved"
        if self.late:
            said += f", {self.late} late rows left out"
        return said
