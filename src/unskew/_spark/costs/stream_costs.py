"""What the rows of a stream cost, learned from batch to batch, in a folder that a restart finds.

The folder holds one file with what all batches before took, which names the last of them, and a
folder for each batch whose parts are not in that file yet. A batch is added when the next one
begins: one that Spark repeats writes its parts anew, and counts once. Files appear whole or not at
all; nothing that is damaged, missing or not writable here ends the stream.
"""

from __future__ import annotations

import logging
import re
import struct
from dataclasses import replace

import numpy as np

from unskew._spark.costs.known_costs import Seen
from unskew._spark.costs.shares import Marks
from unskew._spark.frames.arrow_files import ArrowFolder
from unskew._spark.planning.memory import drift_between, warn_once
from unskew._spark.planning.record_bytes import from_bytes, sealed, to_bytes, unsealed
from unskew._spark.planning.run_records import (
    MOST_BYTES,
    MOST_TASKS,
    IncompleteRunError,
    RecordPlace,
    read_run,
)
from unskew._spark.planning.work_record import WorkRecord
from unskew._spark.routing.native import fits_table
from unskew.errors import InputError

REMEMBERED = 1 << 16
"""Timed rows after which older ones count half: costs drift."""

_KNOWN = "costs"
_BATCH = re.compile(r"batch-(\d{1,18})")
_LAST = struct.Struct("<q")

_log = logging.getLogger("unskew")


class StreamCosts:
    """The costs of one stream's rows, by what tells of them."""

    def __init__(self, folder: str, mark: str, told_by: Marks) -> None:
        self.folder = folder
        self._files = ArrowFolder(folder)
        self._mark = mark
        self._told_by = told_by
        self._seconds = 0.0

    def before(self, batch: int) -> Seen | None:
        """What the batches before this one took; None if nothing is known."""
        try:
            return self._before(batch)
        except OSError as error:
            warn_once(f"{self.folder} cannot be used: {error}")
            return None

    def start(self, batch: int, tasks: int | None) -> RecordPlace | None:
        """Where the tasks of a batch write what they took; None if there is no writing here."""
        if tasks is not None and tasks > MOST_TASKS:
            return None
        try:
            self._files.make()
        except OSError as error:
            warn_once(f"{self.folder} cannot be written: {error}")
            return None
        return RecordPlace(self._files.path(f"batch-{batch}"), self._mark, tasks)

    def _before(self, batch: int) -> Seen | None:
        last, known = self._known()
        found = sorted(int(each[1]) for each in map(_BATCH.fullmatch, self._files.names()) if each)
        # One that Spark repeats, and one behind it if the checkpoint was put back, writes anew.
        new = [number for number in found if last < number < batch]
        runs = [run for run in map(self._run, new) if run is not None]
        for run in runs:
            drift = drift_between(run, known, self._told_by == "number")
            both = [run] if known is None else [aged(known), run]
            known = replace(WorkRecord.merged(both), drift=drift)
            # Batches are not alike: a small one says little of the next.
            self._seconds = max(run.seconds, self._seconds / 2)
        if runs and known is not None:
            last = new[-1]
            self._files.replace(_KNOWN, sealed(_LAST.pack(last) + to_bytes(known)))
        for number in found:
            self._files.remove(f"batch-{number}")
        if known is None:
            return None
        # Started again, it is not known how long a batch takes.
        return Seen(known, self._seconds or float("inf"), batch - 1 - last)

    def _known(self) -> tuple[int, WorkRecord | None]:
        """The last batch that is in the file, and the file's record."""
        try:
            body = unsealed(self._files.read(_KNOWN, MOST_BYTES))
            if len(body) < _LAST.size:
                raise InputError("it is too short")
            return _LAST.unpack_from(body)[0], self._fitting(from_bytes(body[_LAST.size :]))
        except FileNotFoundError:
            return -1, None
        except (InputError, OSError) as error:
            warn_once(f"ignored a damaged file: {self._files.path(_KNOWN)}: {error}")
            return -1, None

    def _run(self, number: int) -> WorkRecord | None:
        try:
            run = read_run(self._files, f"batch-{number}")
            return None if run is None else self._fitting(run.record)
        except IncompleteRunError as error:  # The sink did not read all of the result.
            _log.debug("batch %d is not learned from: %s", number, error)
        except InputError as error:
            warn_once(f"ignored a batch of which a file is damaged: {error}")
        return None

    def _fitting(self, record: WorkRecord) -> WorkRecord | None:
        """A record of this map; None for one of another, whose function has changed."""
        if record.fingerprint != self._mark:
            _log.info("%s is of another function or key; costs are learned anew", self.folder)
            return None
        if self._told_by == "key" and not fits_table(record.keys):
            raise InputError("its keys are no hashes")
        return record


def aged(record: WorkRecord) -> WorkRecord:
    """At most half the rows of a long record, at the same mean cost of each key.

    >>> keys = np.array([7], dtype=np.uint64)
    >>> old = aged(WorkRecord.of(keys, np.array([100_000]), np.array([50.0])))
    >>> old.rows, old.seconds
    (50000, 25.0)
    """
    if record.rows <= REMEMBERED:
        return record
    parts = {}
    for name in ("key", "rest"):
        rows = getattr(record, f"{name}_rows")
        half = (rows + 1) // 2
        parts[f"{name}_rows"] = half
        parts[f"{name}_seconds"] = getattr(record, f"{name}_seconds") * half / np.maximum(rows, 1)
    return replace(record, **parts)
