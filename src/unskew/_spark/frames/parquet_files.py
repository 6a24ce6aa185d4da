"""How many rows Parquet files have, as far as a look at one of them tells."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from unskew._spark.frames.arrow_files import file_system


def rows_per_byte(files: Sequence[str]) -> float | None:
    """Rows to a byte, of the first file; None where there is no file that tells it."""
    if not len(files) or ".parquet" not in files[0]:
        return None
    folder, _, name = unquote(files[0]).rpartition("/")
    try:
        system, path = file_system(folder)
        path = f"{path}/{name}"
        with system.open_input_file(path) as file:
            rows = pq.ParquetFile(file).metadata.num_rows
        size = system.get_file_info(path).size
    except (OSError, pa.ArrowException):
        return None
    return float(rows) / size if rows and size else None
