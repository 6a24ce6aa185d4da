"""The work of a group function, in seconds, by key: what ways are forecast from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from unskew._spark.planning.cost_model import FunctionCost
from unskew._spark.planning.machine import Seconds
from unskew._spark.planning.statistics import KeyProfile
from unskew.partitioners import KeyGrouping
from unskew.partitioners.contract import KeyHashes
from unskew.sketches.hash_ranges import in_ranges


class KeySample(NamedTuple):
    """The keys of a few rows of one input partition."""

    rows: int
    keys: int
    in_half: float
    """Different keys in the first half of the rows."""
    heavy: Sequence[float] = ()
    """The shares of the rows that heavy keys have, the largest first."""

    def keys_in(self, rows: float) -> float:
        """How many different keys more rows would have, by Heaps' law."""
        growth = np.log2(max(self.keys, 1) / max(self.in_half, 0.5))
        return float(self.keys * (max(rows, 1.0) / max(self.rows, 1)) ** min(max(growth, 0), 1))


@dataclass(frozen=True, slots=True, eq=False)
class KeyWork:
    """Heavy keys with their seconds; all other keys together, by equal ranges of the hash."""

    rows: float
    groups: float
    """Different keys."""
    keys: KeyHashes
    key_rows: Seconds
    """The rows of each heavy key."""
    seconds: Seconds
    """What each of them takes in one call; the costliest first."""
    rest: Seconds
    """What all others take, for each range."""

    @classmethod
    def of(cls, profile: KeyProfile, cost: FunctionCost) -> KeyWork:
        """The work of keys whose rows were counted."""
        light = max(profile.distinct - profile.keys.size, 0)
        rest_rows = float(profile.rest.sum())
        shares = profile.rest / rest_rows if rest_rows else np.zeros(profile.rest.size)
        typical = cost.of(np.array([rest_rows / light])) if light else np.zeros(1)
        seconds = cost.of(profile.counts)
        order = np.argsort(-seconds, kind="stable")
        return cls(
            float(profile.rows),
            float(max(profile.distinct, profile.keys.size)),
            profile.keys[order],
            profile.counts[order],
            seconds[order],
            shares * light * float(typical[0]),
        )

    def keys_in_parts(self, parts: int) -> float:
        """How many pairs of key and part there are when rows are dealt to parts at random."""
        light = max(self.groups - self.keys.size, 0.0)
        rows = max(self.rows - float(self.key_rows.sum()), 0.0)
        typical = rows / light if light else 0.0
        heavy = float(self.parts_of(self.key_rows, parts).sum())
        return heavy + light * float(self.parts_of(np.array([typical]), parts)[0])

    @staticmethod
    def parts_of(rows: Seconds, parts: int) -> Seconds:
        """How many of the parts have any of a key's rows, for keys of so many rows."""
        # A part has none of them with about this probability.
        absent: Seconds = np.exp(-rows / parts)
        return (1 - absent) * parts

    @property
    def total(self) -> float:
        """All of it, in seconds."""
        return float(self.seconds.sum() + self.rest.sum())

    def rest_on(self, workers: int) -> Seconds:
        """What the other keys bring to each worker by their hash."""
        return in_ranges(self.rest, workers)

    def hashed(self, workers: int) -> Seconds:
        """What each worker gets when all keys go by their hash."""
        owners = KeyGrouping(workers).router().route(self.keys)
        loads: Seconds = self.rest_on(workers) + np.bincount(
            owners, self.seconds, minlength=workers
        )
        return loads
