"""Files of state: Arrow tables of some keys, written once by a task under a name of its own.

A file is a log (what one batch changed, or what came from another worker) or a slice (all state of
a range of hashes). Either replaces, for every hash that it names, what older files hold; a slice
does so for its whole range. A row without state is a tombstone: the hash has no keys. A slice
without rows needs no file.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import fs

from unskew._spark.frames.arrow_files import file_system
from unskew._spark.frames.checksums import PartFile
from unskew._spark.frames.files import DamagedFileError
from unskew.errors import StateError

FOLDER = "files"

LEAST, MOST = -(1 << 63), (1 << 63) - 1
"""The range of hashes."""

_CHUNK = 8192  # Rows that are Python objects at a time.


@dataclass(frozen=True, slots=True)
class StateFile(PartFile):
    """A file of one worker's state, as commits name it."""

    rows: int
    through: int
    """The last batch whose changes are in it."""
    first: int | None = None
    last: int | None = None
    """The range of hashes of a slice, both ends included; None for a log."""

    @classmethod
    def nothing(cls, through: int, first: int = LEAST, last: int = MOST) -> StateFile:
        """A slice of a range that has no state."""
        return cls("", 0, "", 0, through, first, last)

    @property
    def fields(self) -> tuple[str | int | None, ...]:
        """Its values in the order in which it takes them: a commit may name thousands."""
        return (
            self.name, self.length, self.checksum, self.rows, self.through, self.first, self.last
        )  # fmt: skip

    @property
    def is_slice(self) -> bool:
        """Whether it holds all state of a range."""
        return self.first is not None


@dataclass(frozen=True, slots=True)
class Storage:
    """The state's folder as tasks reach it: they have Arrow's file systems, and no JVM."""

    folder: str

    def check(self) -> None:
        """Raise unless Arrow has a file system for the folder."""
        try:
            self._opened()
        except (ValueError, OSError, NotImplementedError) as error:
            raise StateError(
                f"tasks cannot reach {self.folder}: {error}; use a checkpoint on a file system "
                "that pyarrow.fs knows, such as file, hdfs, s3, gs or abfs"
            ) from error

    def write(
        self, table: pa.Table, kind: str, through: int, first: int | None = None,
        last: int | None = None,
    ) -> StateFile:  # fmt: skip
        """Write a table to a file of this attempt's own: no other attempt ever sees it."""
        content = _encoded(table)
        name = f"{FOLDER}/{through:08d}-{kind}-{uuid.uuid4().hex[:16]}.arrow"
        system, root = self._opened()
        try:
            system.create_dir(f"{root}/{FOLDER}", recursive=True)
            with system.open_output_stream(f"{root}/{name}") as stream:
                stream.write(content)
        except OSError as error:
            raise StateError(
                f"{self.folder}/{name} cannot be written: {error}; the batch is not committed and "
                "nothing is lost: make room, or allow writing, and start the query again"
            ) from error
        checksum = hashlib.sha256(content).hexdigest()
        return StateFile(name, content.size, checksum, table.num_rows, through, first, last)

    def read(self, file: PartFile) -> Iterable[pa.RecordBatch]:
        """The rows of a file; raises `DamagedFileError` unless it is as it was written."""
        system, root = self._opened()
        try:
            with system.open_input_stream(f"{root}/{file.name}") as stream:
                content = stream.read()
        except FileNotFoundError:
            raise DamagedFileError(f"{self.folder}/{file.name} is missing") from None
        except OSError as error:
            raise StateError(
                f"{self.folder}/{file.name} cannot be read: {error}; nothing is lost: start the "
                "query again when it can"
            ) from error
        if len(content) != file.length or hashlib.sha256(content).hexdigest() != file.checksum:
            raise DamagedFileError(f"{self.folder}/{file.name} has changed: its checksum differs")
        reader: Iterable[pa.RecordBatch] = pa.ipc.open_stream(content)
        return reader

    def exists(self, name: str) -> bool:
        """Whether there is such a file."""
        system, root = self._opened()
        return system.get_file_info(f"{root}/{name}").type == fs.FileType.File  # type: ignore[no-any-return]

    def _opened(self) -> tuple[fs.FileSystem, str]:
        return file_system(self.folder)


def _encoded(table: pa.Table) -> pa.Buffer:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=_CHUNK)
    return sink.getvalue()


def in_order(files: Iterable[StateFile]) -> list[StateFile]:
    """The files from the oldest to the newest: so replayed, they give the state."""
    return sorted(files, key=lambda file: (file.through, file.is_slice))


def needed(files: Sequence[StateFile]) -> tuple[StateFile, ...]:
    """The files without which state would be missing: the others are covered by newer slices."""
    bare = [(LEAST, MOST)]
    slices = []
    for file in reversed(in_order(each for each in files if each.is_slice)):
        left = _without(bare, file)
        if left != bare:
            slices.append(file)
        bare = left
    oldest = -1 if bare else min(file.through for file in slices)
    logs = [file for file in files if not file.is_slice and file.through > oldest]
    return tuple(in_order([*slices, *logs]))


def _without(ranges: list[tuple[int, int]], file: StateFile) -> list[tuple[int, int]]:
    assert file.first is not None
    assert file.last is not None
    parts = [
        part
        for low, high in ranges
        for part in ((low, min(high, file.first - 1)), (max(low, file.last + 1), high))
    ]
    return [(low, high) for low, high in parts if low <= high]
