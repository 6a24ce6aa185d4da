"""TPC-H query 5 on a stream whose events cost time: batch times of the join of its orders."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from unskew_lab.cluster.inputs import warm_up
from unskew_lab.cluster.machines import Running, running
from unskew_lab.cluster.stateful import followed, measured
from unskew_lab.papers.specification import Row

if TYPE_CHECKING:
    import pyarrow as pa

    from unskew_lab.apps.replaying import Replay
    from unskew_lab.apps.tpch_q5 import Sales


@dataclass(frozen=True, slots=True)
class Query5:
    """Events in micro-batches of a minute, joined under a rebalancer or by hash alone."""

    rebalancer: str
    theta: float
    scale: float
    """1 is a gigabyte of text."""
    cost: float
    """Of an event, in ms."""
    minutes: int = 10
    workers: int = 15
    draw: int = 0
    """Of several measurements of the same events."""

    def measure(self) -> Sequence[Row]:
        """One row per batch."""
        from unskew_lab.apps import tpch_q5

        up = running()
        replay = replayed(up, self.scale)
        warm_up(up)
        name = hashlib.sha256(repr(self).encode()).hexdigest()[:12]
        stream = tpch_q5.sales(
            tpch_q5.facts(replay.stream()),
            str(up.folder / "checkpoints" / name),
            "kg" if self.rebalancer == "hashing" else self.rebalancer,
            self.workers,
            theta=self.theta,
            processor=slowed(self.cost / 1000),
        )
        return [self.row(measured(record)) for record in followed(stream, self.minutes)]

    def row(self, figures: Row) -> Row:
        """The settings of the cell with the measured figures."""
        return {"scheme": self.rebalancer, "theta": self.theta, **figures}


def replayed(up: Running, scale: float) -> Replay:
    """All events, written once, a file a minute."""
    from unskew_lab.apps import tpch_data, tpch_q5
    from unskew_lab.apps.replaying import Replay

    folder = up.folder / f"tpch-{scale:g}"
    if folder.exists():
        rows = up.spark.read.parquet(str(folder / "rows"))
        return Replay(rows, folder)
    folder.mkdir()
    with TemporaryDirectory() as tables:
        tpch_data.generate(scale, Path(tables))
        rows = tpch_q5.read(up.spark, Path(tables))
        return Replay.of(rows, tpch_data.MINUTES, folder, order="at")


def slowed(cost: float) -> Sales:
    """The app's processor, at `cost` seconds an event."""
    from unskew_lab.apps.tpch_q5 import Sales

    class SlowSales(Sales):
        def process(self, key: Any, rows: pa.Table, state: Any) -> Any:
            from unskew.testing import emulated_work

            emulated_work(cost * rows.num_rows)
            return super().process(key, rows, state)

    return SlowSales()
