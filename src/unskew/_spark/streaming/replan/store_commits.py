"""Commits of a partial store: one small file per batch that names every file of the store.

A commit stands for itself, and the newest one is the store. It is written last and as a whole, so
that a batch is either in the store or not, wherever its query stopped.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import NoReturn

from pyspark.sql.types import StructField

from unskew._spark.engine.aggregation_plan import AggregationPlan
from unskew._spark.frames.checksums import PartFile, document, document_bytes
from unskew._spark.frames.files import DamagedFileError, Files
from unskew._spark.streaming.state_store_merge import aggregate_text
from unskew.errors import StateError

FORMAT = 1
"""Version of the format; raised whenever an older unskew could misread what is written."""

FOLDER = "commits"


@dataclass(frozen=True, slots=True)
class Identity:
    """What the states of a store are: a query with the same can continue it."""

    key: list[str]
    """Names and types."""
    aggregates: list[str]
    """With their settings and columns, in order; the names of the results may change."""
    columns: list[str]
    """What the aggregates read: names and types."""

    @classmethod
    def of(cls, plan: AggregationPlan) -> Identity:
        """The identity of a plan."""
        key = plan.rows.select(*plan.keys).schema
        return cls(
            list(map(_typed, key)),
            list(map(aggregate_text, plan.aggregates)),
            list(map(_typed, plan.inputs)),
        )


@dataclass(frozen=True, slots=True)
class StoreCommit:
    """The store after `batch`."""

    batch: int
    query: str
    identity: Identity
    folders: dict[str, tuple[PartFile, ...]]
    """The folders that make up the store, the newest last, with all of their files."""
    owners: tuple[int, ...] = ()
    """The worker of each virtual worker in this batch, where it was routed by such."""

    @property
    def parts(self) -> list[PartFile]:
        """All files."""
        return [part for parts in self.folders.values() for part in parts]

    def to_bytes(self) -> bytes:
        """One line of JSON, and a line with its checksum."""
        return document_bytes({"format": FORMAT, **asdict(self)})

    @classmethod
    def from_bytes(cls, content: bytes, store: str) -> StoreCommit:
        """Read what `to_bytes` wrote; raises `DamagedFileError` if it is not intact."""
        body = document(content)
        if body["format"] != FORMAT:
            raise StateError(
                f"{store} has format {body['format']} and this unskew reads format {FORMAT}; "
                "continue with the version that wrote it, or use an empty store and a new "
                "checkpoint"
            )
        folders = {
            name: tuple(PartFile(**part) for part in parts)
            for name, parts in body["folders"].items()
        }
        owners = tuple(body.get("owners", ()))
        return cls(body["batch"], body["query"], Identity(**body["identity"]), folders, owners)


class StoreLog:
    """The commits of a store."""

    def __init__(self, files: Files) -> None:
        self.files = files

    def last(self) -> StoreCommit | None:
        """The newest commit; None if the store is empty."""
        batches = self._batches()
        if batches:
            return self._read(batches[-1])
        if any(name.startswith("batch=") for name in self.files.names("")):
            raise StateError(
                f"{self.files.folder} was written by an earlier version, without checksums; use an "
                "empty store and a new checkpoint"
            )
        return None

    def write(self, commit: StoreCommit) -> None:
        """Write a commit: from here on its batch is in the store."""
        self.files.create(_name(commit.batch), commit.to_bytes())

    def remove_before(self, batch: int) -> None:
        """Remove the commits that are older than `batch`."""
        for each in self._batches():
            if each < batch:
                self.files.remove(_name(each))

    def _read(self, batch: int) -> StoreCommit:
        # Not the one before it instead: nothing tells Spark to run this batch again.
        try:
            return StoreCommit.from_bytes(self.files.read(_name(batch)), self.files.folder)
        except DamagedFileError as error:
            refuse_damaged(self.files, f"{_name(batch)}: {error}")

    def _batches(self) -> list[int]:
        names = (name.removesuffix(".json") for name in self.files.names(FOLDER))
        return sorted(int(name) for name in names if name.isdigit())


def refuse_damaged(files: Files, damage: object) -> NoReturn:
    """Raise for a store that has lost something."""
    raise StateError(
        f"{files.folder} is damaged: {damage}; restore the file from a backup, or use an empty "
        "store and a new checkpoint"
    )


def _typed(field: StructField) -> str:
    return f"{field.name} {field.dataType.simpleString()}"


def _name(batch: int) -> str:
    return f"{FOLDER}/{batch:012d}.json"
