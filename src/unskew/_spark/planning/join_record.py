"""What was counted of the keys of a join, for its next runs; and the same as bytes."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

import numpy as np

from unskew._spark.planning.record_bytes import from_bytes, sealed, to_bytes, unsealed
from unskew._spark.planning.work_record import Hashes, WorkRecord
from unskew.errors import InputError

_NOTES = struct.Struct("<dddII")
"""Rows of both sides by their sizes, the share of pairs that meet; runs, bytes of the left."""
_MOST = float(1 << 53)  # Rows of a side, by its size.
_MOST_COUNTED = 1 << 39

Sizes = tuple[float | None, float | None]
"""How many rows both sides have by the sizes that Spark's plan tells; None if it does not."""


@dataclass(frozen=True, slots=True)
class JoinRecord:
    """The keys of both sides, where they were counted."""

    left: WorkRecord
    """The rows of keys; none at all if they were not counted."""
    right: WorkRecord
    sizes: Sizes = (None, None)
    """When they were counted."""
    meeting: float | None = None
    """The share of the first rows of both sides that meet; None if they were not read."""
    runs: int = 0
    """How many runs took them from here since."""

    @classmethod
    def none(cls, fingerprint: str) -> JoinRecord:
        """Nothing was counted."""
        return cls(WorkRecord.none(fingerprint), WorkRecord.none(fingerprint))

    @property
    def counted(self) -> bool:
        """Whether there are keys."""
        return bool(self.left.rows or self.right.rows)

    @property
    def fingerprint(self) -> str:
        """Of the join: its kind and the types of its key."""
        return self.left.fingerprint

    @property
    def keys(self) -> Hashes:
        """The hashes of keys that are heavy on one side at least."""
        return np.union1d(self.left.keys, self.right.keys)

    @property
    def drift(self) -> float:
        """Which share of a side's rows had other keys when they were counted before."""
        return self.left.drift

    def drifted(self, drift: float) -> JoinRecord:
        """The same with another drift."""
        return replace(self, left=replace(self.left, drift=drift))

    def drift_from(self, before: JoinRecord) -> float:
        """Which share of a side's rows has other keys than it had, at most."""
        if not (self.counted and before.counted):
            return 0.0
        return max(self.left.drift_from(before.left), self.right.drift_from(before.right))


def join_bytes(record: JoinRecord) -> bytes:
    """A record, for `join_of`."""
    left, right = to_bytes(record.left), to_bytes(record.right)
    numbers = [-1.0 if each is None else each for each in (*record.sizes, record.meeting)]
    return sealed(_NOTES.pack(*numbers, record.runs, len(left)) + left + right)


def join_of(content: bytes) -> JoinRecord:
    """Read what `join_bytes` wrote; raises `InputError` if it is not a record, or not intact."""
    body = unsealed(content)
    if len(body) < _NOTES.size:
        raise InputError("it is too short for a join")
    *numbers, runs, length = _NOTES.unpack_from(body)
    most = (_MOST, _MOST, 1.0)
    if not all(each == -1 or 0 <= each <= top for each, top in zip(numbers, most, strict=True)):
        raise InputError(f"its sizes are {numbers}")
    between = _NOTES.size + length
    left, right = from_bytes(body[_NOTES.size : between]), from_bytes(body[between:])
    if left.fingerprint != right.fingerprint:
        raise InputError("its sides are those of two joins")
    if max(left.rows, right.rows) > _MOST_COUNTED:
        raise InputError(f"its sides have {left.rows} and {right.rows} rows")
    here, there, meeting = (None if each == -1 else each for each in numbers)
    return JoinRecord(left, right, (here, there), meeting, runs)
