"""The memory from run to run: what the function of a job took by key, in a folder for each job.

A job's folder holds a summary of its last run, and a folder for each run whose parts were not put
together yet; that of a join holds what was counted of its keys. Files appear whole or not at all,
and a file that vanishes was put together by another driver: several drivers may use one memory.
Nothing that is found or missing here is ever fatal.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

import numpy as np
from pyspark.sql import SparkSession

from unskew._spark.frames.arrow_files import ArrowFolder
from unskew._spark.frames.files import is_connect
from unskew._spark.planning.join_record import JoinRecord, join_bytes, join_of
from unskew._spark.planning.notices import tell
from unskew._spark.planning.record_bytes import from_bytes, to_bytes
from unskew._spark.planning.run_records import (
    MOST_BYTES,
    MOST_TASKS,
    IncompleteRunError,
    RecordPlace,
    Run,
    new_run,
    read_run,
    runs,
)
from unskew._spark.planning.work_record import RANGES, WorkRecord
from unskew._spark.routing.native import fits_table
from unskew.errors import InputError, ParameterError, ParameterTypeError

SETTING = "spark.unskew.memory"
"""The setting of a session that names the folder."""

_SUMMARY = "summary"
_JOIN = "join"
_PENDING = 2  # Runs that are kept although tasks of them are missing: they may still be running.
_PARTS = 64
"""Of all hashes, in each of which drift is looked at."""
_DRIFT = 0.25  # So much of the work with other keys than in the run before is worth a line.
_DROP = 0.5  # A run with a smaller share of the rows of the run before was likely cut short.

Known = TypeVar("Known", WorkRecord, JoinRecord)

_log = logging.getLogger("unskew")

_UNSET = ""
_chosen: str | None = _UNSET


def remember(path: str | os.PathLike[str] | None) -> None:
    """Keep what jobs learn while they run, for their next run.

    A job writes down which keys were heavy, and what its function took for them. Its next run
    plans with that: it needs no pass over the rows, and levels seconds instead of rows. A join
    keeps what was counted of its keys, for a few runs.

    Parameters
    ----------
    path : str, path or None
        A folder that the driver and all executors reach, on any file system that `pyarrow.fs`
        knows (file, hdfs, s3, gs, abfs); without a scheme, on Spark's default file system. None
        keeps and reads nothing, whatever the setting `spark.unskew.memory` of the session says.

    Examples
    --------
    >>> import unskew
    >>> unskew.remember("s3://bucket/unskew")  # doctest: +SKIP
    >>> unskew.remember(None)  # doctest: +SKIP
    """
    global _chosen
    if path is not None:
        if not isinstance(path, str | os.PathLike):
            raise ParameterTypeError("path", path, "a folder or None")
        path = os.fspath(path)
        if not path:
            raise ParameterError("path='' names no folder; give one, or None to remember nothing")
    _chosen = path


@dataclass(frozen=True, slots=True)
class Memory:
    """The memory in one folder."""

    folder: str

    @classmethod
    def of(cls, session: SparkSession) -> Memory | None:
        """The memory that `remember` or the session chose; None if there is none."""
        path = _chosen
        if path == _UNSET:
            path = session.conf.get(SETTING, None)
        return cls(qualified(session, path)) if path else None

    def start_run(
        self,
        job: str,
        fingerprint: str,
        tasks: int | None = None,
        merging: tuple[float, float] = (0.0, 0.0),
    ) -> RecordPlace | None:
        """Where the tasks of a new run write; None if there is no writing here."""
        if tasks is not None and tasks > MOST_TASKS:
            _note_once(f"{job} is not remembered: it has more than {MOST_TASKS} tasks")
            return None
        folder = self._job(job)
        try:
            folder.make()
        except OSError as error:
            warn_once(f"the memory {folder.folder} cannot be written: {_in_short(error)}")
            return None
        return RecordPlace(folder.path(new_run()), fingerprint, tasks, merging)

    def recall(
        self, job: str, fingerprint: str, by_table: bool = False, by_range: bool = False
    ) -> WorkRecord | None:
        """What the last run of a job took whose tasks all finished; None if nothing is known.

        Nothing is known of a job that has changed since. `by_table` if its keys go into the table
        of a route: hashes do, but whoever can write here can write other numbers. `by_range` if
        keys of one range are alike.
        """
        return self._still_the_same(job, fingerprint, partial(_recalled, by_range), by_table)

    def keep_trusted(self, job: str, record: WorkRecord) -> None:
        """Keep that a run took `record` and measures nothing itself."""
        folder = self._job(job)
        try:
            folder.replace(_SUMMARY, to_bytes(replace(record, trusted=record.trusted + 1)))
        except OSError as error:
            warn_once(f"the memory {folder.folder} cannot be written: {_in_short(error)}")

    def recall_join(self, job: str, fingerprint: str) -> JoinRecord | None:
        """What was counted of the keys of a join that has not changed since."""
        return self._still_the_same(job, fingerprint, _join, by_table=True)

    def keep_join(self, job: str, record: JoinRecord, before: JoinRecord | None) -> None:
        """Keep what was counted of a join, for `recall_join`."""
        folder = self._job(job)
        if before is not None:
            record = record.drifted(_told(folder, record.drift_from(before)))
        try:
            folder.replace(_JOIN, join_bytes(record))
        except OSError as error:
            warn_once(f"the memory {folder.folder} cannot be written: {_in_short(error)}")

    def _still_the_same(
        self,
        job: str,
        fingerprint: str,
        read: Callable[[ArrowFolder], Known | None],
        by_table: bool,
    ) -> Known | None:
        folder = self._job(job)
        try:
            record = read(folder)
        except OSError as error:
            warn_once(f"the memory {folder.folder} cannot be read: {_in_short(error)}")
            return None
        if record is not None and by_table and not fits_table(record.keys):
            warn_once(f"ignored the memory {folder.folder}: its keys are no hashes")
            return None
        if record is None or record.fingerprint == fingerprint:
            return record
        _note_once(f"{job} has changed since its recorded run, which is not used")
        return None

    def _job(self, job: str) -> ArrowFolder:
        return ArrowFolder(f"{self.folder.rstrip('/')}/{job}")


def _recalled(by_range: bool, folder: ArrowFolder) -> WorkRecord | None:
    pending = runs(folder.names())
    found = [(run, read) for run in pending if (read := _read(folder, run))]
    # Read behind the runs: a run that another driver removes meanwhile is in the summary.
    summary = _summary(folder)
    for place, (run, read) in enumerate(found):
        before = found[place + 1][1].record if place + 1 < len(found) else summary
        if read.certain or before is None or read.record.rows >= _DROP * before.rows:
            drift = drift_between(read.record, before, by_range)
            record = replace(read.record, drift=_told(folder, drift))
            _put_together(folder, record, [each for each in pending if each <= run])
            return record
    _removed(folder, pending[_PENDING:])
    return summary


def _read(folder: ArrowFolder, run: str) -> Run | None:
    try:
        return read_run(folder, run)
    except IncompleteRunError as error:
        _log.debug("run %s of %s is not used: %s", run, folder.folder, error)
    except InputError as error:
        warn_once(f"ignored a run of which a file is damaged: {error}")
    except OSError as error:
        warn_once(f"ignored {folder.path(run)}, which is no run: {_in_short(error)}")
    return None


def _summary(folder: ArrowFolder) -> WorkRecord | None:
    return _content(folder, _SUMMARY, from_bytes)


def _join(folder: ArrowFolder) -> JoinRecord | None:
    return _content(folder, _JOIN, join_of)


def _content(folder: ArrowFolder, name: str, read: Callable[[bytes], Known]) -> Known | None:
    try:
        return read(folder.read(name, MOST_BYTES))
    except FileNotFoundError:
        return None
    except (InputError, OSError) as error:
        warn_once(f"ignored a damaged file: {folder.path(name)}: {_in_short(error)}")
        return None


def _put_together(folder: ArrowFolder, record: WorkRecord, done: list[str]) -> None:
    try:
        folder.replace(_SUMMARY, to_bytes(record))
    except OSError as error:
        warn_once(f"{folder.path(_SUMMARY)} cannot be written: {_in_short(error)}")
        return
    _removed(folder, done)


def drift_between(record: WorkRecord, before: WorkRecord | None, by_range: bool) -> float:
    """Which share of the work has other keys than before, or keys of other ranges.

    Which keys a run names depends on how it placed them, and in how many tasks they were; what all
    keys of a part of the hashes took does not. A key that takes another's place is in another part.
    """
    if before is None:
        return 0.0
    drift = record.drift_from(before)
    shape = RANGES if by_range else _PARTS, -1
    rests = [each.unnamed().rest_seconds.reshape(shape).sum(axis=1) for each in (record, before)]
    now, then = (rest / max(rest.sum(), 1e-9) for rest in rests)
    if np.count_nonzero(now + then) < 2:
        return drift  # All keys are in one part: there is no telling by parts.
    return min(drift, float(np.abs(now - then).sum()) / 2)


def _told(folder: ArrowFolder, drift: float) -> float:
    """The drift; the user is told if it is much."""
    if drift >= _DRIFT:
        tell(
            f"{folder.folder}: {drift:.0%} of the work was with other keys than in the run before; "
            "the last counts"
        )
    return drift


def _removed(folder: ArrowFolder, names: list[str]) -> None:
    for name in names:
        try:
            folder.remove(name)
        except OSError as error:
            _log.debug("%s cannot be removed: %s", folder.path(name), error)


def qualified(session: SparkSession, path: str) -> str:
    """A path with its file system, as Spark reads paths: tasks do not know Spark's default."""
    if urlsplit(path).scheme:
        return path
    if not is_connect(session):
        java: Any = session.sparkContext._jsc
        default = str(java.hadoopConfiguration().get("fs.defaultFS"))
        if urlsplit(default).scheme not in ("", "file"):
            return default.rstrip("/") + "/" + path.lstrip("/")
    return str(Path(path).expanduser().absolute())


def _in_short(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


@functools.lru_cache(maxsize=256)
def warn_once(message: str) -> None:
    """Log a warning, the same one only once."""
    _log.warning(message)


@functools.lru_cache(maxsize=256)
def _note_once(message: str) -> None:
    tell(message)
