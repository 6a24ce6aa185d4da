"""A table as a stream: cut into files, each of which is a micro-batch."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame

from unskew.errors import ParameterError
from unskew.streaming import BatchProgress
from unskew_lab.stream_files import write_stream_file


@dataclass(frozen=True)
class Replay:
    """Rows in micro-batches of equal size, in their original order."""

    rows: DataFrame
    """All of them, as a table."""
    folder: Path
    cost: float = 0.0
    """Seconds of emulated work for each row, where an app can wait for them."""
    period: int = 0
    """Micro-batches in an aggregation period, where an app has such; 0: a batch is one."""

    @classmethod
    def of(
        cls,
        rows: DataFrame,
        batches: int,
        folder: Path,
        order: str | None = None,
        cost: float = 0.0,
        period: int = 0,
    ) -> Replay:
        """Write the files below `folder`, sorted by the column `order` if it is given.

        They pass through the memory of this process.
        """
        if batches < 1:
            raise ParameterError(f"batches={batches} is not at least 1")
        table = rows.toArrow()
        if order is not None:
            table = table.sort_by(order)
        files = folder / "rows"
        files.mkdir()
        size = -(-table.num_rows // batches)
        for number in range(batches):
            write_stream_file(table.slice(number * size, size), files, number)
        written = rows.sparkSession.read.schema(rows.schema).parquet(str(files))
        return cls(written, folder, cost, period)

    def stream(self) -> DataFrame:
        """A stream of the rows."""
        reader = self.rows.sparkSession.readStream.schema(self.rows.schema)
        return reader.option("maxFilesPerTrigger", 1).parquet(str(self.folder / "rows"))

    def tables(self) -> list[pa.Table]:
        """The micro-batches in their order."""
        return [pq.read_table(path) for path in sorted((self.folder / "rows").glob("*.parquet"))]

    def scratch(self) -> str:
        """An empty folder, for one run's checkpoint and output."""
        return tempfile.mkdtemp(dir=self.folder)


def balance(batches: Sequence[BatchProgress]) -> float:
    """Max over mean of the loads, summed over all batches.

    >>> one, two = (BatchProgress.of(0, loads, 1.0) for loads in ([30, 10], [5, 5]))
    >>> balance([one, two])
    1.4
    """
    # A batch ends with its busiest worker: what is uneven in two batches does not even out.
    busiest = sum(max(each.loads) for each in batches)
    level = sum(sum(each.loads) / each.workers for each in batches)
    return busiest / level if level > 0 else 1.0
