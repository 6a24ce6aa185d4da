"""The commit of a batch: one small file that names everything that belongs to the state.

A commit stands for itself: which layers make the state, the routing table for the next batch, what
the controller remembers. Recovery reads the newest good one and nothing older.
"""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import asdict, dataclass, field
from typing import Any

from py4j.protocol import Py4JJavaError

from unskew._spark.stateful.files import Files
from unskew.errors import StateError
from unskew.partitioners import RoutingTable
from unskew.partitioners.serialization import from_json, to_json

FORMAT = 1
"""Raised whenever older versions of unskew could misread what is written."""

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
    """All that a restart needs to know after `batch`."""

    batch: int
    query: str
    key: str
    """The key's columns and types, as JSON."""
    state: str
    """The state's schema, as JSON."""
    table: RoutingTable
    """The routes of the next batch."""
    table_version: int
    layers: tuple[LayerFile, ...]
    """From the oldest to the newest."""
    newest_event: int | None = None
    """The latest event time so far, in microseconds."""
    memory: dict[str, Any] = field(default_factory=dict)
    """What the controller remembers."""

    def to_bytes(self) -> bytes:
        """A line of JSON, and its checksum on another."""
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
        text = json.dumps(body).encode()
        return text + b"\n" + _checksum(text) + b"\n"

    @classmethod
    def from_bytes(cls, content: bytes) -> Commit:
        """What `to_bytes` wrote; a `ValueError` if it is not whole."""
        text, checksum, *_ = [*content.split(b"\n"), b"", b""]
        if checksum != _checksum(text):
            raise ValueError("its checksum is wrong")
        body = json.loads(text)
        found = body.pop("format")
        if found != FORMAT:
            raise StateError(
                f"the state has format {found} and this unskew reads format {FORMAT}; continue "
                "with the version that wrote it, or start anew with another checkpoint"
            )
        table = from_json(body.pop("table"))
        assert isinstance(table, RoutingTable)
        layers = tuple(LayerFile(**layer) for layer in body.pop("layers"))
        return cls(table=table, layers=layers, **body)


class CommitLog:
    """The commits below a folder, and the layers that they name."""

    def __init__(self, files: Files) -> None:
        self.files = files
        self._layers: dict[int, set[str]] = {}
        """The layers of each commit that is kept."""

    def last(self, mend: bool = True) -> Commit | None:
        """The newest good commit; says so if it is not the newest one, and removes that one."""
        good: list[Commit] = []
        damaged: list[str] = []
        for batch in reversed(self._batches()):
            try:
                good.append(self._read(batch))
            except (ValueError, KeyError, TypeError, Py4JJavaError) as error:
                if not good:
                    damaged.append(f"{_name(batch)} ({_first_line(error)})")
        self._layers = {each.batch: {layer.path for layer in each.layers} for each in good}
        if damaged and not good:
            raise StateError(
                f"no commit can be read: {', '.join(damaged)}; restore one of them, or start anew "
                "with another checkpoint"
            )
        if damaged:
            logger.warning(
                "%s cannot be read: falling back to batch %d", " and ".join(damaged), good[0].batch
            )
            if mend:
                self._remove_after(good[0].batch)
        return good[0] if good else None

    def _read(self, batch: int) -> Commit:
        found = Commit.from_bytes(self.files.read(_name(batch)))
        missing = [layer.path for layer in found.layers if not self._is_whole(layer)]
        if missing:
            raise ValueError(f"without its layer {missing[0]}")
        return found

    def _is_whole(self, layer: LayerFile) -> bool:
        return self.files.exists(f"{layer.path}/_SUCCESS")

    def write(self, commit: Commit) -> None:
        """From here on the batch is done."""
        self.files.create(_name(commit.batch), commit.to_bytes())
        self._layers[commit.batch] = {layer.path for layer in commit.layers}

    def clean(self, newest: Commit) -> None:
        """Remove old commits, and layers that none of those kept needs."""
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
        names = self.files.names("commits")
        return sorted(int(name[:-5]) for name in names if name.endswith(".json"))


def _name(batch: int) -> str:
    return f"commits/{batch:012d}.json"


def _checksum(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()


def _first_line(error: Exception) -> str:
    cause = getattr(error, "java_exception", error)
    return str(cause).splitlines()[0] if str(cause) else type(error).__name__
