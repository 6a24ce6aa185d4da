"""The batches of a stream so far, read from its file as it grows."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from unskew.display import printable
from unskew.report.live.lines import FIGURES, presented, records

KEPT = 100_000
"""The number of newest batches that are kept."""


class History:
    """The records of a file, the last one of each batch; `update` reads what was appended.

    Every record has a number in the order of reading, so that a page can ask for what is new to
    it, batches that were repeated included.

    Cost: O(appended bytes) for an update, memory for the last 100,000 batches.
    """

    def __init__(self, path: Path, kept: int = KEPT) -> None:
        self.path = path
        self.kept = kept
        self._lock = threading.Lock()
        self._read = 0
        self._reset()

    def _reset(self) -> None:
        self._offset = 0
        self._file: tuple[int, int] | None = None
        self._began = self._read
        self._numbers: dict[int, int] = {}
        self._records: dict[int, dict[str, Any]] = {}

    def update(self) -> None:
        """Read what was appended. A file that was replaced or truncated is read from the start."""
        with self._lock:
            try:
                self._update()
            except FileNotFoundError:
                return  # The page keeps what it has; the file may return.

    def _update(self) -> None:
        with self.path.open("rb") as file:
            status = self.path.stat()
            name = (status.st_dev, status.st_ino)
            if name != self._file or status.st_size < self._offset:
                self._reset()
                self._file = name
            file.seek(self._offset)
            # The last line may be half written: it is left for the next time.
            whole, newline, _ = file.read().rpartition(b"\n")
        self._offset += len(whole) + len(newline)
        for record in records(iter(whole.split(b"\n"))):
            self._read += 1
            self._numbers[record["batch"]] = self._read
            self._records[record["batch"]] = record
        for batch in sorted(self._records)[: max(len(self._records) - self.kept, 0)]:
            del self._records[batch], self._numbers[batch]

    def since(self, number: int) -> dict[str, Any]:
        """The figures of records after a number, as columns, and the newest batch as a whole.

        For a number of an earlier file, or one not reached yet, all records are returned.
        """
        with self._lock:
            reset = not self._began < number <= self._read
            batches = sorted(batch for batch, at in self._numbers.items() if reset or at > number)
            found = [self._records[batch] for batch in batches]
            last = self._records.get(max(self._records, default=-1))
            return {
                "name": printable(str(self.path.parent)),
                "number": self._read,
                "reset": reset,
                "figures": {name: [each[name] for each in found] for name in FIGURES},
                "last": None if last is None else presented(last),
            }

    def batch(self, batch: int) -> dict[str, Any] | None:
        """One record as a whole."""
        with self._lock:
            found = self._records.get(batch)
        return None if found is None else presented(found)

    def all(self) -> list[dict[str, Any]]:
        """Every record, in the order of batches."""
        with self._lock:
            return [presented(self._records[batch]) for batch in sorted(self._records)]
