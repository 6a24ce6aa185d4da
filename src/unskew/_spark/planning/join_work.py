"""The work of a join, in seconds: of all its rows, and key by key where keys were counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unskew._spark.planning.cost_model import BYTE, SORT
from unskew._spark.planning.machine import Seconds
from unskew._spark.planning.statistics import KeyProfile
from unskew.partitioners import KeyGrouping
from unskew.partitioners.contract import KeyHashes
from unskew.sketches.hash_ranges import in_ranges


class SideRows(NamedTuple):
    """The rows of one side."""

    rows: float
    row_bytes: float
    partitions: int
    """Of the input."""

    @property
    def bytes(self) -> float:
        """All of them, as Spark holds them."""
        return self.rows * self.row_bytes

    @property
    def seconds(self) -> float:
        """What a task takes to read and sort a row."""
        return SORT + self.row_bytes * BYTE


@dataclass(frozen=True, slots=True, eq=False)
class JoinKeys:
    """The rows of heavy keys on both sides; of all other keys together, by ranges of the hash."""

    keys: KeyHashes
    left: Seconds
    """How many rows each of them has on the left."""
    right: Seconds
    rest_left: Seconds
    rest_right: Seconds
    rest_pairs: Seconds
    """How many rows of the result the other keys bring."""

    @classmethod
    def of(cls, left: KeyProfile, right: KeyProfile) -> JoinKeys:
        """Keys that are heavy on one side at least."""
        keys = np.union1d(left.keys, right.keys)
        typical = right.rows / max(right.distinct, 1)
        return cls(
            keys,
            _counts(left, keys),
            _counts(right, keys),
            left.rest,
            right.rest,
            left.rest * typical,
        )

    def seconds(self, left: float, right: float, pair: float) -> Seconds:
        """What each heavy key takes, given the seconds of a row of each side and of the result."""
        taken: Seconds = self.left * left + self.right * right + self.left * self.right * pair
        return taken

    def rest(self, left: float, right: float, workers: int, pair: float) -> Seconds:
        """What all other keys bring to each worker by their hash."""
        taken = self.rest_left * left + self.rest_right * right + self.rest_pairs * pair
        return in_ranges(taken, workers)

    def hashed(self, of_keys: Seconds, rest: Seconds) -> Seconds:
        """What each worker gets when all keys go by their hash."""
        owners = KeyGrouping(rest.size).router().route(self.keys)
        loads: Seconds = rest + np.bincount(owners, of_keys, minlength=rest.size)
        return loads


def level(loads: Seconds, capacities: Seconds | None) -> float:
    """The max/mean of what workers get; of their utilisation if they differ in capacity."""
    used = loads if capacities is None else loads / capacities * capacities.mean()
    mean = float(loads.mean())
    return float(used.max()) / mean if mean else 1.0


def _counts(profile: KeyProfile, keys: KeyHashes) -> Seconds:
    """The rows of each key on one side; a key that is not heavy there has a typical number."""
    light = np.full(keys.size, profile.rest.sum() / max(profile.distinct - profile.keys.size, 1))
    order = np.argsort(profile.keys)
    light[np.searchsorted(keys, profile.keys[order])] = profile.counts[order]
    return light
