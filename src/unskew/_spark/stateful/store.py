"""A worker's state on its executor: an SQLite file that holds what committed batches left behind.

It is a cache. What counts is in the files that a commit names; a store that is behind, missing or
broken is brought up to date from them, and what it holds of a hash has a checksum. A batch's own
changes never enter it before the batch is committed, so an attempt that is repeated, or runs twice
at a time, finds what the first one found.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import shutil
import sqlite3
import tempfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from unskew._spark.frames.prompt_tasks import no_garbage
from unskew._spark.stateful.config import StateSchema
from unskew._spark.stateful.state_files import StateFile, Storage, in_order
from unskew._spark.stateful.state_tables import Keys, contents, first_due
from unskew.errors import StateError

_PATIENCE = 600  # Seconds until another attempt on this executor has brought the store up to date.
_AT_ONCE = 500  # Hashes in a query.

_SCHEMA = """
    CREATE TABLE IF NOT EXISTS state
        (hash INTEGER PRIMARY KEY, due INTEGER, keys BLOB, checksum INTEGER);
    CREATE INDEX IF NOT EXISTS timers ON state (due) WHERE due IS NOT NULL;
"""


class BrokenStoreError(StateError):
    """A store cannot be read, or does not hold what was written to it."""


class Fetched(NamedTuple):
    """What a store had to read to be up to date, apart from the changes of the last batch."""

    rows: int
    size: int


@contextlib.contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise BrokenStoreError(
            f"the executor's copy of the state cannot be read: {error}; nothing is lost: start the "
            "query again"
        ) from error


class Store:
    """The state of one worker after a batch; no other worker's."""

    def __init__(self, path: Path) -> None:
        self.db = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None)
        # The file need not survive the machine, only a process that dies.
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = OFF")
        self.db.executescript(_SCHEMA)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.db.close()

    @property
    def through(self) -> int:
        """The last batch whose changes it holds; -1 for none."""
        number, copy = (
            self.db.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("user_version", "application_id")
        )
        if number != copy:
            raise sqlite3.DatabaseError("the number of its batch has changed")
        return int(number) - 1

    @no_garbage()
    def advance(
        self, files: Iterable[StateFile], through: int, storage: Storage, schema: StateSchema
    ) -> Fetched:
        """Replay the files that are newer than the store: it then is at the batch `through`.

        Whichever of them it has seen, the result is the same: every range of hashes starts anew
        with a slice, or goes on from where the store is, with all logs since.
        """
        self.db.execute("BEGIN IMMEDIATE")
        try:
            newer = [file for file in in_order(files) if file.through > self.through]
            for file in newer:
                self._replay(file, storage, schema)
            self.db.execute(f"PRAGMA user_version = {through + 1:d}")
            self.db.execute(f"PRAGMA application_id = {through + 1:d}")
            self.db.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self.db.execute("ROLLBACK")
            raise
        behind = [file for file in newer if file.through < through]
        return Fetched(sum(file.rows for file in behind), sum(file.length for file in behind))

    def _replay(self, file: StateFile, storage: Storage, schema: StateSchema) -> None:
        if file.is_slice:
            gone = "DELETE FROM state WHERE hash BETWEEN ? AND ?"
            self.db.execute(gone, (file.first, file.last))
        for rows in storage.read(file) if file.rows else ():
            found = list(contents(rows, schema))
            self.db.executemany(
                "INSERT OR REPLACE INTO state VALUES (?, ?, ?, ?)",
                (_row(number, keys) for number, keys in found if keys),
            )
            empty = [(number,) for number, keys in found if not keys]
            self.db.executemany("DELETE FROM state WHERE hash = ?", empty)

    @_told()
    @no_garbage()
    def get(self, hashes: Sequence[int]) -> dict[int, Keys]:
        """The keys of the hashes that have any."""
        found: dict[int, Keys] = {}
        places = ",".join("?" * _AT_ONCE)
        for start in range(0, len(hashes), _AT_ONCE):
            part = list(hashes[start : start + _AT_ONCE])
            # One text for all queries: SQLite compiles it once.
            part += part[-1:] * (_AT_ONCE - len(part))
            query = f"SELECT * FROM state WHERE hash IN ({places})"
            found |= _unpickled(self.db.execute(query, part))
        return found

    @_told()
    @no_garbage()
    def due(self, now: int) -> dict[int, Keys]:
        """The keys of the hashes of which some timeout has ended at `now`."""
        query = "SELECT * FROM state WHERE due <= ? ORDER BY hash"
        return _unpickled(self.db.execute(query, (now,)))

    @_told()
    @no_garbage()
    def range(self, first: int, count: int) -> dict[int, Keys]:
        """The keys of the next `count` hashes from `first` on."""
        query = "SELECT * FROM state WHERE hash >= ? ORDER BY hash LIMIT ?"
        return _unpickled(self.db.execute(query, (first, count)))

    @_told()
    def hashes(self) -> NDArray[np.int64]:
        """All hashes that have keys."""
        rows = self.db.execute("SELECT hash FROM state ORDER BY hash")
        return np.fromiter((number for (number,) in rows), dtype=np.int64)


def _row(number: int, keys: Keys) -> tuple[int, int | None, bytes, int]:
    content = pickle.dumps(keys, 5)
    return number, first_due(keys), content, _checksum(number, content)


def _checksum(number: int, content: bytes) -> int:
    return zlib.crc32(content, number & 0xFFFFFFFF)


def _unpickled(rows: Iterable[tuple[int, int | None, bytes, int]]) -> dict[int, Keys]:
    found: dict[int, Keys] = {}
    for number, _, content, checksum in rows:
        # SQLite gives what it finds: a bit more or less may make a text of it.
        if not isinstance(content, bytes) or _checksum(number, content) != checksum:
            raise sqlite3.DatabaseError(f"the checksum of hash {number} differs")
        found[number] = pickle.loads(content)
    return found


def opened(
    lineage: str, worker: int, files: Sequence[StateFile], through: int, storage: Storage,
    schema: StateSchema,
) -> tuple[Store, Fetched]:  # fmt: skip
    """The store of a worker on this executor, brought up to the batch `through`.

    A `lineage` is a run of commits that follow each other: stores of another may hold batches
    that were rolled back, and are removed.
    """
    path = _path(lineage, worker)
    try:
        return _advanced(path, files, through, storage, schema)
    except sqlite3.OperationalError as error:
        raise _unusable(error) from error


def remove(lineage: str, worker: int) -> None:
    """Remove the store of a worker on this executor."""
    _remove(_path(lineage, worker))


def _remove(path: Path) -> None:
    # The log before the database: SQLite would replay it into the one that comes after.
    for each in sorted(path.parent.glob(f"{path.name}*"), reverse=True):
        each.unlink(missing_ok=True)


def _path(lineage: str, worker: int) -> Path:
    try:
        return _folder(Path(_local()), lineage) / f"{worker}.sqlite"
    except OSError as error:
        raise _unusable(error) from error


def _local() -> str:
    return os.environ.get("SPARK_LOCAL_DIRS", tempfile.gettempdir()).split(",")[0]


def _unusable(error: Exception) -> StateError:
    return StateError(
        f"the executor's copy of the state in {_local()} cannot be used: {error}; nothing is lost: "
        "make room in spark.local.dir, and start the query again"
    )


def _advanced(
    path: Path, files: Sequence[StateFile], through: int, storage: Storage, schema: StateSchema
) -> tuple[Store, Fetched]:
    try:
        store = Store(path)
        return store, store.advance(files, through, storage, schema)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:  # Not a database, or a broken one.
        _remove(path)
        store = Store(path)
        return store, store.advance(files, through, storage, schema)


def _folder(local: Path, lineage: str) -> Path:
    """Below Spark's own local folder of this executor: it goes with the executor."""
    query, _, run = lineage.partition("/")
    beside = local / f"unskew-state-{query}"
    folder = beside / run
    if not folder.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for other in beside.iterdir():
            if other != folder:
                shutil.rmtree(other, ignore_errors=True)
    return folder
