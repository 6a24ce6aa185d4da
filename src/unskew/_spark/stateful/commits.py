"""Commits: one small file per batch that names everything that belongs to the state.

A commit stands for itself: the files of each worker's state, with lengths and checksums, the
routing tables, the controller's memory. Recovery reads the newest intact one and nothing older.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field, fields
from typing import Any

from unskew._spark.frames.checksums import check_part_files, document, document_bytes
from unskew._spark.frames.files import DamagedFileError, Files
from unskew._spark.stateful.state_files import FOLDER, StateFile
from unskew.errors import StateError
from unskew.partitioners import RoutingTable
from unskew.partitioners.serialization import from_json, to_json

FORMAT = 2
"""Version of the format; raised whenever an older unskew could misread what is written."""

KEPT = 3
"""Commits that are kept, with their files, to fall back to."""

logger = logging.getLogger("unskew")


@dataclass(frozen=True, slots=True)
class Commit:
    """Everything that a restart needs to know after `batch`."""

    batch: int
    query: str
    key: str
    """The key's columns and types, as JSON."""
    state: str
    """The state's schema, as JSON."""
    table: RoutingTable
    """The routing table of the next batch."""
    planned: RoutingTable
    """The one after it: the next batch hands over the keys that it sends elsewhere."""
    table_version: int
    files: tuple[tuple[StateFile, ...], ...]
    """Of each worker."""
    newest_event: int | None = None
    """The latest event time so far, in microseconds."""
    memory: dict[str, Any] = field(default_factory=dict)
    """What the controller remembers."""

    def to_bytes(self) -> bytes:
        """One line of JSON, and a line with its checksum."""
        body = {
            "format": FORMAT,
            "batch": self.batch,
            "query": self.query,
            "key": self.key,
            "state": self.state,
            "table": to_json(self.table),
            "planned": None if self.planned is self.table else to_json(self.planned),
            "table_version": self.table_version,
            "files": [[file.fields for file in files] for files in self.files],
            "newest_event": self.newest_event,
            "memory": self.memory,
        }
        return document_bytes(body)

    @classmethod
    def from_bytes(cls, content: bytes) -> Commit:
        """Read what `to_bytes` wrote; raises `DamagedFileError` if it is not intact.

        Only the document itself is judged here. An error of the code that reads its parts passes
        through: it says nothing about the file.
        """
        body = document(content)
        if body["format"] != FORMAT:
            raise StateError(
                f"the state has format {body['format']} and this unskew reads format {FORMAT}; "
                "continue with the version that wrote it, or start with a new checkpoint"
            )
        missing = [each.name for each in fields(cls) if each.name not in body]
        if missing:
            raise DamagedFileError(f"no field {missing[0]}")
        table = from_json(body["table"])
        planned = table if body["planned"] is None else from_json(body["planned"])
        files = tuple(tuple(StateFile(*file) for file in each) for each in body["files"])
        known = {each.name: body[each.name] for each in fields(cls)}
        return cls(**known | {"table": table, "planned": planned, "files": files})

    @property
    def names(self) -> set[str]:
        """The names of all its files."""
        return {file.name for file in self.written}

    @property
    def written(self) -> list[StateFile]:
        """All its files."""
        return [file for files in self.files for file in files if file.rows]


class CommitLog:
    """The commits in a folder, and the files that they name."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self._kept: dict[int, set[str]] = {}
        """The files of each kept commit."""
        self._whole = b""
        """The commit whose files were all there when it was written, or last read."""

    def last(self) -> Commit | None:
        """The newest commit that is intact with all its files; logs newer ones that are damaged."""
        found: Commit | None = None
        damaged: list[str] = []
        for batch in reversed(self._batches()):
            try:
                read = self._read(batch, deep=found is None)
                found = found or read
                self._kept[batch] = read.names
            except DamagedFileError as error:
                if found is None:
                    damaged.append(f"{commit_name(batch)} ({error})")
        if damaged and found is None:
            raise StateError(
                f"every commit in {self.files.folder} is damaged: {', '.join(damaged)}; restore "
                "one of them from a backup, or start with a new checkpoint"
            )
        if damaged and found is not None:
            logger.warning("damaged: %s; falling back to batch %d", ", ".join(damaged), found.batch)
        return found

    def newest(self) -> int:
        """The last batch that has a commit, intact or not; -1 if there is none."""
        return max(self._batches(), default=-1)

    def _read(self, batch: int, deep: bool) -> Commit:
        content = self.files.read(commit_name(batch))
        found = Commit.from_bytes(content)
        if deep and content != self._whole:
            check_part_files(self.files, found.written)
            self._whole = content
        return found

    def mend(self, newest: Commit | None) -> None:
        """Remove what is newer than the commit that `last` found, and files that none names.

        Nothing if there is no commit: they may be elsewhere, and the files are all that is left.
        """
        if newest is None:
            return
        for batch in self._batches():
            if batch > newest.batch:
                self.files.remove(commit_name(batch))
        self._kept = {batch: names for batch, names in self._kept.items() if batch <= newest.batch}
        self.sweep()

    def write(self, commit: Commit) -> None:
        """Write a commit: from here on its batch is done."""
        content = commit.to_bytes()
        self.files.create(commit_name(commit.batch), content)
        self._whole = content
        self._kept[commit.batch] = commit.names

    def clean(self) -> None:
        """Remove old commits, and the files that no kept commit names."""
        newest = max(self._kept)
        old = {batch: names for batch, names in self._kept.items() if batch <= newest - KEPT}
        self._kept = {batch: names for batch, names in self._kept.items() if batch not in old}
        needed = set().union(*self._kept.values())
        for batch, names in old.items():
            self.files.remove(commit_name(batch))
            for name in names - needed:
                self.files.remove(name)

    def sweep(self) -> None:
        """Remove the files that no commit names: of attempts that failed or came second."""
        needed = set().union(*self._kept.values())
        for name in self.files.names(FOLDER):
            if f"{FOLDER}/{name}" not in needed:
                self.files.remove(f"{FOLDER}/{name}")

    def _batches(self) -> list[int]:
        names = (name.removesuffix(".json") for name in self.files.names("commits"))
        return sorted(int(name) for name in names if name.isdigit())


def commit_name(batch: int) -> str:
    """The file of a batch's commit, in the folder of the state."""
    return f"commits/{batch:012d}.json"
