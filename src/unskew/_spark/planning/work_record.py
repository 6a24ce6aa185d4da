"""What the calls of a group function took, by key: rows, seconds and calls, in bounded space.

The heaviest keys are named by their hash. All others are summed up in equal ranges of the hash:
key grouping gives each worker a range of it, so that ranges add up to the workers' loads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew.sketches.frozen import ArrayValue, frozen
from unskew.sketches.hash_ranges import in_ranges

MOST_KEYS = 4096
"""How many keys a record names."""

MOST_TRUSTED = 6
"""So many runs in a row may take a record and measure nothing themselves."""

RANGES = 1024
"""How many ranges of the hash it has for all other keys."""

_SHIFT = np.uint64(54)  # The upper ten bits of a hash are its range.

_GOLDEN = 0.6180339887498949  # Its multiples are spread evenly over 0..1, however many there are.

Measure = Literal["seconds", "rows"]
Hashes = NDArray[np.uint64]
Whole = NDArray[np.int64]
Floats = NDArray[np.float64]


class KeyWeights(NamedTuple):
    """Keys with their weights and what all others bring to each worker, as a plan takes them."""

    keys: Hashes
    weights: Floats
    rest: Floats


@dataclass(frozen=True, slots=True, eq=False)
class WorkRecord(ArrayValue):
    """The work of each heavy key, and of all other keys by the range of their hash.

    >>> keys = np.array([7, 7, 2**63], dtype=np.uint64)
    >>> record = WorkRecord.of(keys, np.array([10, 20, 5]), np.array([0.5, 1.5, 0.25]))
    >>> record.keys.tolist(), record.key_rows.tolist(), record.key_calls.tolist()
    ([7, 9223372036854775808], [30, 5], [2, 1])
    >>> record.rows, record.calls, record.seconds
    (35, 3, 2.25)
    """

    keys: Hashes
    """The hashes of the heavy keys, the heaviest first."""
    key_rows: Whole
    key_seconds: Floats
    key_calls: Whole
    """More than one if the rows of a key were cut."""
    rest_rows: Whole
    """Of all other keys, by range."""
    rest_seconds: Floats
    rest_calls: Whole
    fingerprint: str = ""
    """Of the job; empty if unknown, or if jobs differed."""
    merging: tuple[float, float] = (0.0, 0.0)
    """Seconds of a merge, for a key and for each partial result of it; 0 if unknown."""
    drift: float = field(default=0.0, compare=False)
    """Which share of the work had other keys in the run before; 0 if there was none."""
    trusted: int = field(default=0, compare=False)
    """How many runs in a row took it since and measured nothing themselves."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "keys", frozen(self.keys, np.uint64))
        for name in ("key_rows", "key_calls", "rest_rows", "rest_calls"):
            object.__setattr__(self, name, frozen(getattr(self, name), np.int64))
        for name in ("key_seconds", "rest_seconds"):
            object.__setattr__(self, name, frozen(getattr(self, name), np.float64))

    @classmethod
    def of(
        cls,
        keys: Hashes,
        rows: Whole,
        seconds: Floats,
        calls: Whole | None = None,
        *,
        fingerprint: str = "",
        most: int = MOST_KEYS,
    ) -> WorkRecord:
        """Sum up calls, one for each of `keys`; `most` of these are named."""
        calls = np.ones(keys.size, dtype=np.int64) if calls is None else calls
        keys, rows, seconds, calls = _by_key(keys, rows, seconds, calls)
        order = np.lexsort((keys, -rows, -seconds, -_weight(rows, seconds)))
        named, other = order[:most], order[most:]
        ranges = (keys[other] >> _SHIFT).astype(np.int64)
        return cls(
            keys[named],
            rows[named],
            seconds[named],
            calls[named],
            _by_range(ranges, rows[other]),
            _by_range(ranges, seconds[other]),
            _by_range(ranges, calls[other]),
            fingerprint,
        )

    @classmethod
    def merged(cls, records: Iterable[WorkRecord], most: int = MOST_KEYS) -> WorkRecord:
        """The work of all records; a key that one of them names may be in the rest of another."""
        records = list(records) or [cls.none()]
        made = cls.of(
            np.concatenate([each.keys for each in records]),
            np.concatenate([each.key_rows for each in records]),
            np.concatenate([each.key_seconds for each in records]),
            np.concatenate([each.key_calls for each in records]),
            most=most,
        )
        fingerprints = {each.fingerprint for each in records}
        return cls(
            made.keys,
            made.key_rows,
            made.key_seconds,
            made.key_calls,
            made.rest_rows + sum(each.rest_rows for each in records),
            made.rest_seconds + sum(each.rest_seconds for each in records),
            made.rest_calls + sum(each.rest_calls for each in records),
            fingerprints.pop() if len(fingerprints) == 1 else "",
            max(each.merging for each in records),
        )

    def in_ranges_of(self, most: int, turn: int) -> WorkRecord:
        """With so many ranges in use at most: neighbours are added up in one of them.

        It is another one each turn, so that many such records add up to level neighbours.
        """
        width = 1
        while np.count_nonzero(self.rest_calls.reshape(-1, width).any(axis=1)) > most:
            width *= 2
        if width == 1:
            return self
        place = int(turn * _GOLDEN % 1 * width)

        def added(values: NDArray[Any]) -> NDArray[Any]:
            sums = np.zeros_like(values)
            sums[place::width] = values.reshape(-1, width).sum(axis=1)
            return sums

        return replace(
            self,
            rest_rows=added(self.rest_rows),
            rest_seconds=added(self.rest_seconds),
            rest_calls=added(self.rest_calls),
        )

    @classmethod
    def none(cls, fingerprint: str = "", merging: tuple[float, float] = (0.0, 0.0)) -> WorkRecord:
        """No calls at all."""
        whole = np.empty(0, dtype=np.int64)
        made = cls.of(np.empty(0, dtype=np.uint64), whole, np.empty(0), fingerprint=fingerprint)
        return replace(made, merging=merging)

    @property
    def rows(self) -> int:
        """Of all keys."""
        return int(self.key_rows.sum() + self.rest_rows.sum())

    @property
    def seconds(self) -> float:
        """Of all keys."""
        return float(self.key_seconds.sum() + self.rest_seconds.sum())

    @property
    def calls(self) -> int:
        """Of all keys: as many as there are keys, if none was cut."""
        return int(self.key_calls.sum() + self.rest_calls.sum())

    def drift_from(self, before: WorkRecord) -> float:
        """Which share of the work is with other keys than it was: 0 none, 1 all of it."""
        hashes = np.concatenate([self.keys, before.keys])
        shares = np.concatenate(
            [_shares(self, self.key_seconds), -_shares(before, before.key_seconds)]
        )
        _, places = np.unique(hashes, return_inverse=True)
        heavy = np.bincount(places, shares)
        rest = _shares(self, self.rest_seconds) - _shares(before, before.rest_seconds)
        return float(np.abs(heavy).sum() + np.abs(rest).sum()) / 2

    def unnamed(self) -> WorkRecord:
        """All keys by their range."""
        return WorkRecord.merged([self], most=0)

    def weights(self, workers: int, measure: Measure = "seconds") -> KeyWeights:
        """Heavy keys, and what all others bring to each of `workers` by their hash.

        Exact where `workers` divides the number of ranges; a range that lies across two workers is
        shared out evenly.
        """
        heavy, rest = self.key_seconds, self.rest_seconds
        if measure == "rows":
            heavy, rest = self.key_rows.astype(np.float64), self.rest_rows.astype(np.float64)
        return KeyWeights(self.keys, heavy, in_ranges(rest, workers))


def _by_key(
    keys: Hashes, rows: Whole, seconds: Floats, calls: Whole
) -> tuple[Hashes, Whole, Floats, Whole]:
    """Each key once, with its sums."""
    if not keys.size:
        return keys, rows, seconds, calls
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    rows, seconds, calls = (np.add.reduceat(each[order], starts) for each in (rows, seconds, calls))
    return keys[starts], rows, seconds, calls


def _weight(rows: Whole, seconds: Floats) -> Floats:
    """The larger of a key's shares: rows are what counts when seconds are no longer trusted."""
    larger: Floats = np.maximum(rows / max(rows.sum(), 1), seconds / max(seconds.sum(), 1e-9))
    return larger


def _shares(record: WorkRecord, seconds: Floats) -> Floats:
    shares: Floats = seconds / max(record.seconds, 1e-9)
    return shares


def _by_range(ranges: Whole, values: NDArray[Any]) -> NDArray[Any]:
    sums = np.zeros(RANGES, dtype=values.dtype)
    np.add.at(sums, ranges, values)
    return sums
