"""The records of one run: every task of it writes its part, and the driver puts them together."""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple
from uuid import uuid4

from unskew._spark.frames.arrow_files import ArrowFolder
from unskew._spark.planning.record_bytes import (
    KEY_BYTES,
    RANGE_BYTES,
    from_bytes,
    sealed,
    to_bytes,
    unsealed,
)
from unskew._spark.planning.work_record import MOST_KEYS, WorkRecord
from unskew.errors import InputError

MOST_BYTES = 1 << 20
"""No file of a memory is larger; a larger one is not read."""

MOST_TASKS = 2048
"""Runs of more tasks are not recorded: their parts would be mostly heads."""

_BUDGET = 384 << 10  # Bytes of all parts of a run, but for their heads.
_FEWEST = 16  # Heavy keys that a task has room for while it runs.
_USUAL = 64  # Tasks, where their number is not known.
_MORE = 6  # Then the sum of _BUDGET / (_MORE * number) over all tasks is about one _BUDGET.
_MOST_OF_RUN = 8 << 20  # Bytes of all parts of a run that are read, whoever wrote them.
_AT_ONCE = 8  # Files read at a time: on an object store most of the time is spent waiting.

_NOTES = struct.Struct("<iii")
_RUN = re.compile(r"\d{8}T\d{12}-[0-9a-f]{8}")
_PART = re.compile(r"part-\d{1,9}")


class IncompleteRunError(InputError):
    """Some tasks of a run have not finished, or their parts are gone."""


@dataclass(frozen=True, slots=True)
class RecordPlace:
    """Where the tasks of a run write what they measured; it travels with them."""

    folder: str
    """Of the run."""
    fingerprint: str
    """Of the job: what it does by which key."""
    tasks: int | None = None
    """How many tasks the run has; None if Spark may choose."""
    merging: tuple[float, float] = (0.0, 0.0)
    """What a merge takes, as in `WorkRecord`."""

    @property
    def most_keys(self) -> int:
        """How many keys a task names while it runs."""
        share = _BUDGET // KEY_BYTES // (self.tasks or _USUAL)
        return min(max(share, _FEWEST), MOST_KEYS)

    def write(self, record: WorkRecord, partition: int, stage: int) -> None:
        """Write the part of one task, in place of what an earlier attempt wrote."""
        if partition >= MOST_TASKS:
            return
        room = self._room(partition)
        fitting = WorkRecord.merged([record], most=max(3 * room // 4 // KEY_BYTES, 1))
        fitting = fitting.in_ranges_of(max(room // 4 // RANGE_BYTES, 1), partition)
        content = part_bytes(Part(partition, stage, self.tasks, fitting))
        ArrowFolder(self.folder).replace(f"part-{partition}", content)

    def _room(self, partition: int) -> int:
        """The bytes of a part: a fair share; less and less if their number is not known."""
        return _BUDGET // (self.tasks or max(_USUAL, _MORE * (partition + 1)))


class Part(NamedTuple):
    """What one task measured."""

    partition: int
    stage: int
    """Spark's number of the stage: a DataFrame that is run twice is run in two."""
    tasks: int | None
    record: WorkRecord


def part_bytes(part: Part) -> bytes:
    """A part, for `part_of`."""
    notes = _NOTES.pack(part.partition, part.stage, -1 if part.tasks is None else part.tasks)
    return sealed(notes + to_bytes(part.record))


def part_of(content: bytes) -> Part:
    """Read what `part_bytes` wrote; raises `InputError` if it is not a part, or not intact."""
    body = unsealed(content)
    if len(body) < _NOTES.size:
        raise InputError("it is too short for a part")
    partition, stage, tasks = _NOTES.unpack_from(body)
    return Part(partition, stage, None if tasks < 0 else tasks, from_bytes(body[_NOTES.size :]))


def new_run() -> str:
    """A name of a run that no other has; later runs sort behind earlier ones."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{uuid4().hex[:8]}"


def runs(names: Iterable[str]) -> list[str]:
    """Those of the names in a job's folder that are runs, the newest first."""
    return sorted(filter(_RUN.fullmatch, names), reverse=True)


class Run(NamedTuple):
    """All that is known of a run."""

    record: WorkRecord
    certain: bool
    """Whether all tasks are known to have finished."""


def read_run(folder: ArrowFolder, run: str) -> Run | None:
    """What the tasks of a run wrote; None if none has yet.

    Raises `InputError`, which names the file, for a part that is damaged, and
    `IncompleteRunError` if tasks are missing.
    """
    sizes = {name: size for name, size in folder.sizes(run).items() if _PART.fullmatch(name)}
    # One that is too large itself is named when it is read.
    if sum(min(size, MOST_BYTES) for size in sizes.values()) > _MOST_OF_RUN:
        raise InputError(f"{folder.path(run)}: its parts have more than {_MOST_OF_RUN} bytes")
    names = sorted(sizes)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        parts = list(pool.map(lambda name: _read_part(folder, f"{run}/{name}"), names))
    if not parts:
        return None
    tasks = parts[0].tasks
    if tasks is None and len(parts) == MOST_TASKS:
        raise IncompleteRunError(f"only {MOST_TASKS} tasks are recorded")
    if tasks is None:
        return Run(_of_one_stage(parts), certain=False)
    found = {
        part.partition: part.record
        for part in parts
        if part.tasks == tasks and 0 <= part.partition < tasks
    }
    if len(found) < tasks:
        raise IncompleteRunError(f"{len(found)} of {tasks} tasks have finished")
    return Run(WorkRecord.merged(found.values()), certain=True)


def _read_part(folder: ArrowFolder, name: str) -> Part:
    try:
        return part_of(folder.read(name, MOST_BYTES))
    except FileNotFoundError:
        # Another driver has put the run together.
        raise IncompleteRunError(f"{folder.path(name)} is gone") from None
    except (InputError, OSError) as error:
        raise InputError(f"{folder.path(name)}: {error}") from error


def _of_one_stage(parts: list[Part]) -> WorkRecord:
    """The stage with the most rows: Spark may cut the same rows otherwise when it runs again."""
    stages = {part.stage for part in parts}
    made = [
        WorkRecord.merged(part.record for part in parts if part.stage == stage)
        for stage in sorted(stages, reverse=True)
    ]
    return max(made, key=lambda record: record.rows)
