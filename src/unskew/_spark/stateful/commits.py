"""Commits: one small file per batch that names everything that belongs to the state.

A commit stands for itself: which layers make up the state, the routing table of the next batch,
the controller's memory. Recovery reads the newest intact one and nothing older.
"""

from __future__ import annotations

import logging
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from unskew._spark.frames.checksums import document, document_bytes
from unskew._spark.frames.files import DamagedFileError, Files
from unskew.errors import StateError
from unskew.partitioners import RoutingTable
from unskew.partitioners.serialization import from_json, to_json

FORMAT = 1
"""Version of the format; raised whenever an older unskew could misread what is written."""

KEPT = 3
"""Commits that are kept, with their layers, to fall back to."""

logger = logging.getLogger("unskew")


@dataclass(frozen=True, slots=True)
class LayerFile:
    """A Parquet folder with versions of some keys' state."""

    path: str
    rows: int


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
    table_version: int
    layers: tuple[LayerFile, ...]
    """From the oldest to the newest."""
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
            "table_version": self.table_version,
            "layers": [asdict(layer) for layer in self.layers],
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
        assert isinstance(table, RoutingTable)
        layers = tuple(LayerFile(layer["path"], layer["rows"]) for layer in body["layers"])
        known = {each.name: body[each.name] for each in fields(cls)}
        return cls(**known | {"table": table, "layers": layers})


class CommitLog:
    """The commits in a folder, and the layers that they name."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self._layers: dict[int, set[str]] = {}
        """The layers of each kept commit."""

    def last(self, mend: bool = True) -> Commit | None:
        """The newest intact commit; logs and, with `mend`, removes newer ones that are damaged."""
        good: list[Commit] = []
        damaged: list[str] = []
        for batch in reversed(self._batches()):
            try:
                good.append(self._read(batch))
            except DamagedFileError as error:
                if not good:
                    damaged.append(f"{_name(batch)} ({error})")
        self._layers = {each.batch: {layer.path for layer in each.layers} for each in good}
        if damaged and not good:
            raise StateError(
                f"every commit in {self.files.folder} is damaged: {', '.join(damaged)}; restore "
                "one of them from a backup, or start with a new checkpoint"
            )
        if damaged:
            logger.warning(
                "damaged: %s; falling back to batch %d", ", ".join(damaged), good[0].batch
            )
            if mend:
                self._remove_after(good[0].batch)
        return good[0] if good else None

    def _read(self, batch: int) -> Commit:
        found = Commit.from_bytes(self.files.read(_name(batch)))
        missing = [layer.path for layer in found.layers if not self._is_whole(layer)]
        if missing:
            raise DamagedFileError(f"its layer {missing[0]} is missing or unfinished")
        return found

    def _is_whole(self, layer: LayerFile) -> bool:
        return self.files.exists(f"{layer.path}/_SUCCESS")

    def write(self, commit: Commit) -> None:
        """Write a commit: from here on its batch is done."""
        self.files.create(_name(commit.batch), commit.to_bytes())
        self._layers[commit.batch] = {layer.path for layer in commit.layers}

    def clean(self, newest: Commit) -> None:
        """Remove old commits, and the layers that no kept commit names."""
        kept = {
            batch: paths for batch, paths in self._layers.items() if batch > newest.batch - KEPT
        }
        for batch in self._batches():
            if batch <= newest.batch - KEPT:
                self.files.remove(_name(batch))
        self._layers = kept
        needed = set().union(*kept.values())
        for name in self.files.names("layers"):
            if f"layers/{name}" not in needed:
                self.files.remove(f"layers/{name}")

    def _remove_after(self, batch: int) -> None:
        for each in self._batches():
            if each > batch:
                self.files.remove(_name(each))

    def _batches(self) -> list[int]:
        names = (name.removesuffix(".json") for name in self.files.names("commits"))
        return sorted(int(name) for name in names if name.isdigit())


def _name(batch: int) -> str:
    return f"commits/{batch:012d}.json"
