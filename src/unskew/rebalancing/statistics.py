"""Key statistics for planners: cost, state and frequency, in columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from unskew.errors import InputError, UnknownNameError
from unskew.hashing import hash_keys
from unskew.kernels import KeyHashes
from unskew.sketches.key_counts import KeyCounts

Amounts = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class KeyStatistics:
    """One row per key: hash, cost in the last interval, state over the last w, frequency.

    Build it with `of`, `from_arrow`, `from_counts` or `over`, which check and sort. Rows are in
    ascending order of the hash, so that a plan never depends on their original order.
    `unlisted` is the cost of all keys that have no row (a sketch drops the light ones); it is
    taken to be level over the workers, as a hash makes it, unless `rests` has each worker's own.

    >>> statistics = KeyStatistics.of([30, 10, 20], cost=[3, 1, 2])
    >>> statistics.keys.tolist(), statistics.cost.tolist(), statistics.total_cost
    ([10, 20, 30], [1.0, 2.0, 3.0], 6.0)
    """

    keys: KeyHashes
    cost: Amounts
    memory: Amounts
    frequency: Amounts
    unlisted: float = 0.0
    rests: Amounts = field(default_factory=lambda: np.empty(0))
    """What is unlisted of each worker, if that is known: it stays there."""

    @classmethod
    def of(
        cls,
        keys: ArrayLike,
        cost: ArrayLike,
        memory: ArrayLike | None = None,
        frequency: ArrayLike | None = None,
        *,
        unlisted: float = 0.0,
        rests: ArrayLike | None = None,
    ) -> Self:
        """Check and sort columns; the state and the frequency are the cost unless given.

        `rests` is what is unlisted of each worker; it holds for as many workers, and its sum for
        any other number.
        """
        hashes = _hashes(keys)
        order = np.argsort(hashes)
        hashes = hashes[order]
        twice = np.flatnonzero(hashes[1:] == hashes[:-1])
        if twice.size:
            raise InputError(
                f"key {hashes[twice[0]]} occurs in two rows; sum the rows of each key first"
            )
        costs = _amounts("cost", cost, order)
        _amounts("unlisted", [unlisted], np.zeros(1, dtype=np.intp))
        kept = np.empty(0) if rests is None else np.asarray(rests, dtype=np.float64)
        kept = _amounts("rests", kept, np.arange(kept.size))
        return cls(
            hashes,
            costs,
            costs if memory is None else _amounts("memory", memory, order),
            costs if frequency is None else _amounts("frequency", frequency, order),
            float(unlisted) if rests is None else float(kept.sum()),
            kept,
        )

    @classmethod
    def from_arrow(cls, table: pa.Table, key: str = "key") -> Self:
        """From the columns `key` (of any type that Spark can group by), cost, memory, frequency.

        The last two may be missing, as in `of`.

        >>> arrow = pa.table({"key": ["a", "b"], "cost": [3, 1], "memory": [10, 20]})
        >>> KeyStatistics.from_arrow(arrow).total_cost
        4.0
        """
        for name in (key, "cost"):
            if name not in table.column_names:
                raise UnknownNameError("column", name, table.column_names)
        return cls.of(
            hash_keys(table[key]),
            *(
                _numbers(name, table[name]) if name in table.column_names else None
                for name in ("cost", "memory", "frequency")
            ),  # type: ignore[arg-type]
        )

    @classmethod
    def from_counts(cls, counts: KeyCounts, messages: int | None = None) -> Self:
        """From a sketch: the keys it holds, out of `messages` in all.

        >>> frequent = KeyCounts(np.array([1], dtype=np.uint64), np.array([60]))
        >>> KeyStatistics.from_counts(frequent, messages=100).unlisted
        40.0
        """
        known = int(counts.counts.sum())
        return cls.of(counts.keys, counts.counts, unlisted=max(0, (messages or known) - known))

    @classmethod
    def over(cls, intervals: Sequence[Self], window: int) -> Self:
        """The cost of the last interval with the state of the last `window` of them.

        >>> monday, tuesday = KeyStatistics.of([1, 2], [5, 5]), KeyStatistics.of([2, 3], [1, 1])
        >>> both = KeyStatistics.over([monday, tuesday], window=2)
        >>> both.cost.tolist(), both.memory.tolist()
        ([0.0, 1.0, 1.0], [5.0, 6.0, 1.0])
        """
        if window < 1 or not intervals:
            raise InputError(
                f"window={window} over {len(intervals)} intervals is empty; both must be at least 1"
            )
        kept, last = intervals[-window:], intervals[-1]
        if all(np.array_equal(interval.keys, last.keys) for interval in kept):
            memory = np.sum([interval.memory for interval in kept], axis=0)
            return cls(last.keys, last.cost, memory, last.frequency, last.unlisted, last.rests)
        keys = np.unique(np.concatenate([interval.keys for interval in kept]))
        memory = np.zeros(keys.size)
        for interval in kept:
            memory[np.searchsorted(keys, interval.keys)] += interval.memory
        cost, frequency = np.zeros(keys.size), np.zeros(keys.size)
        rows = np.searchsorted(keys, last.keys)
        cost[rows], frequency[rows] = last.cost, last.frequency
        return cls(keys, cost, memory, frequency, last.unlisted, last.rests)

    @property
    def size(self) -> int:
        """How many keys have a row."""
        return int(self.keys.size)

    def rest_of(self, workers: int) -> Amounts:
        """The cost of unlisted keys on each of so many workers; a copy.

        >>> KeyStatistics.of([1], [5], rests=[1, 3]).rest_of(2).tolist()
        [1.0, 3.0]
        >>> KeyStatistics.of([1], [5], rests=[1, 3]).rest_of(4).tolist()
        [1.0, 1.0, 1.0, 1.0]
        """
        if self.rests.size == workers:
            return self.rests.copy()
        return np.full(workers, self.unlisted / workers)

    @property
    def total_cost(self) -> float:
        """The cost of all keys, listed or not."""
        return float(self.cost.sum()) + self.unlisted

    @property
    def heaviest(self) -> float:
        """The cost of the heaviest key: no assignment of whole keys has a lower maximum."""
        return float(self.cost.max(initial=0.0))


def _hashes(keys: ArrayLike) -> KeyHashes:
    # A list needs its type named: numpy takes one that goes beyond 2^63 for floats.
    column = keys if isinstance(keys, np.ndarray) else np.array(keys, dtype=np.uint64)
    if column.ndim != 1 or column.dtype.kind not in "iu":
        raise InputError(
            f"keys are a {column.ndim}-d array of {column.dtype}, not a 1-d array of 64-bit hashes"
        )
    return column.astype(np.uint64, copy=False)


def _numbers(name: str, column: pa.ChunkedArray) -> Amounts:
    if column.null_count:
        raise InputError(f"{name} is null in {column.null_count} rows; give every key a number")
    try:
        numbers: Amounts = column.cast(pa.float64()).to_numpy()
    except pa.ArrowInvalid as error:
        raise InputError(f"{name} is {column.type}, not numbers") from error
    return numbers


def _amounts(name: str, values: ArrayLike, order: NDArray[np.intp]) -> Amounts:
    column = np.asarray(values, dtype=np.float64)
    if column.shape != order.shape:
        raise InputError(f"{name} has {column.size} rows where keys have {order.size}")
    if not np.isfinite(column).all() or column.min(initial=0.0) < 0:
        wrong = column[~(np.isfinite(column) & (column >= 0))][0]
        raise InputError(f"{name}={wrong} is not a number of at least 0")
    return column[order]
