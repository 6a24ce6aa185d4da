"""Parquet files that Spark reads as a stream in a known order."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

_FIRST = 1_700_000_000


def write_stream_file(table: pa.Table, folder: Path, number: int) -> None:
    """Write file `number` of a stream.

    Spark reads files in the order of their modification times, so these follow the numbers.
    """
    path = folder / f"{number:04d}.parquet"
    pq.write_table(table, path)
    os.utime(path, (_FIRST + number, _FIRST + number))
