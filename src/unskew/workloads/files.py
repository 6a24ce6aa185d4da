"""Streams from Parquet and CSV files, in file order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from unskew.errors import InputError, UnknownNameError
from unskew.hashing import hash_keys
from unskew.kernels import KeyHashes
from unskew.workloads.stream import CHUNK


@dataclass(frozen=True)
class FileStream:
    """The rows of a Parquet or CSV file, keyed by one or more of its columns.

    Null is a key like any other. A CSV file has a header line, and Arrow infers its types.
    """

    path: Path
    key: tuple[str, ...]
    is_parquet: bool = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "is_parquet", _is_parquet(self.path))
        columns = self._columns()
        for name in self.key:
            if name not in columns:
                raise UnknownNameError(f"column in {self.path.name}", name, columns)
        if not self.key:
            raise InputError(f"no key column given; {self.path.name} has {', '.join(columns)}")
        if self.messages == 0:
            raise InputError(f"{self.path.name} has no rows; give a file with at least one")

    @cached_property
    def messages(self) -> int:
        """How many rows there are; a CSV file is read once for it."""
        if self.is_parquet:
            return int(pq.ParquetFile(self.path).metadata.num_rows)
        return sum(batch.num_rows for batch in self._batches())

    def chunks(self) -> Iterator[KeyHashes]:
        """The key hashes of all rows, in order."""
        for batch in self._batches():
            if batch.num_rows:
                yield hash_keys([batch.column(name) for name in self.key])

    def _batches(self) -> Iterator[pa.RecordBatch]:
        if self.is_parquet:
            with _parquet_errors(self.path):
                yield from pq.ParquetFile(self.path).iter_batches(CHUNK, columns=list(self.key))
            return
        with _csv_errors(self.path), pa.csv.open_csv(self.path) as reader:
            yield from reader

    def _columns(self) -> list[str]:
        if self.is_parquet:
            return list(pq.read_schema(self.path).names)
        with _csv_errors(self.path), pa.csv.open_csv(self.path) as reader:
            return list(reader.schema.names)


def read_table(path: Path) -> pa.Table:
    """A whole Parquet or CSV file."""
    if _is_parquet(path):
        with _parquet_errors(path):
            return pq.read_table(path)
    with _csv_errors(path):
        return pa.csv.read_csv(path)


@contextmanager
def _csv_errors(path: Path) -> Iterator[None]:
    """Turn Arrow's errors about a bad file into an `InputError`."""
    try:
        yield
    except (pa.ArrowException, UnicodeDecodeError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"{path.name} is neither Parquet nor a readable CSV file: {reason}"
        ) from error


def _is_parquet(path: Path) -> bool:
    """Whether it is Parquet, by its content; raises if it is neither Parquet nor text."""
    try:
        with path.open("rb") as file:
            start = file.read(4096)
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    if not start:
        raise InputError(f"{path.name} is empty; give a Parquet or CSV file with at least one row")
    if start.startswith(b"PAR1"):
        return _checked_parquet(path)
    if b"\0" in start:
        raise InputError(f"{path.name} is neither Parquet nor CSV; convert it to one of them")
    return False


def _checked_parquet(path: Path) -> bool:
    with _parquet_errors(path):
        pq.read_schema(path)
    return True


@contextmanager
def _parquet_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except (pa.ArrowException, OSError) as error:
        raise InputError(f"{path.name} is a damaged Parquet file: {error}") from error
