"""What is counted of the keys of a join: by jobs of ours, or by an earlier run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

import numpy as np

from unskew._spark.planning.decision import RANGES
from unskew._spark.planning.join_memory import JoinMemory, doubt
from unskew._spark.planning.join_record import JoinRecord, Sizes
from unskew._spark.planning.notices import tell
from unskew._spark.planning.remembered_work import profile_of, record_of
from unskew._spark.planning.request import RoutingRequest
from unskew._spark.planning.statistics import KeyProfile
from unskew._spark.planning.work_record import MOST_KEYS

FIRST = 2000
"""Rows of each side that tell whether the result is far larger than both: a task of each."""

Profiles = tuple[KeyProfile, KeyProfile]


class JoinCounts:
    """What is known of the keys, asked for where no earlier run tells; and kept for the next."""

    def __init__(self, memory: JoinMemory | None, sizes: Sizes) -> None:
        self._memory = memory
        self._sizes = sizes
        self._took = False
        self._told = False
        self._meeting: float | None = None
        self._profiles: Profiles | None = None

    def meeting(self, ask: Callable[[], float | None]) -> tuple[float | None, str]:
        """The share of the first rows of both sides that meet, and which rows these are."""
        rows = f"the first {FIRST:,} rows"
        if self._known is not None and self._known.meeting is not None:
            self._took = True
            return self._known.meeting, f"{rows} of an earlier run"
        self._tell_doubt()
        self._meeting = ask()
        return self._meeting, rows

    def profiles(self, ask: Callable[[], Profiles | None]) -> Profiles | None:
        """The frequencies of the keys of both sides; None if they could not be counted."""
        if self._known is not None and self._known.counted:
            self._took = True
            return profile_of(self._known.left, RANGES), profile_of(self._known.right, RANGES)
        self._tell_doubt()
        self._profiles = ask()
        return self._profiles

    def keep(self) -> None:
        """Keep what was counted, or that a further run has taken it on trust."""
        memory, known = self._memory, self._known if self._took else None
        if memory is None or not (known or self._profiles or self._meeting is not None):
            return
        if known is None:
            record = replace(JoinRecord.none(memory.fingerprint), sizes=self._sizes)
        else:
            record = replace(known, runs=known.runs + 1)
        if self._meeting is not None:
            record = replace(record, meeting=self._meeting)
        if self._profiles is None:
            memory.keep(record)
            return
        left, right = self._profiles
        # A key that is heavy on one side is named on both.
        named = np.union1d(left.keys[: MOST_KEYS // 2], right.keys[: MOST_KEYS // 2])
        here, there = (record_of(each, named, memory.fingerprint) for each in self._profiles)
        memory.keep(replace(record, left=here, right=there), self._before)

    @cached_property
    def _before(self) -> JoinRecord | None:
        """What was counted last."""
        return None if self._memory is None else self._memory.recall()

    @cached_property
    def _known(self) -> JoinRecord | None:
        """The same, if it may still be true."""
        return None if self._before is None or self._doubt else self._before

    @cached_property
    def _doubt(self) -> str | None:
        return None if self._before is None else doubt(self._before, self._sizes)

    def _tell_doubt(self) -> None:
        if self._memory is not None and self._doubt and not self._told:
            tell(f"{self._memory.job} is counted anew: {self._doubt}")
            self._told = True


def share_that_meets(left: RoutingRequest, right: RoutingRequest) -> float:
    """The share of pairs that meet, of the first rows of each side."""
    hashes = []
    for side in (left, right):
        keys = side.rows.where(~side.key.any_null).select(side.key.hash)
        hashes.append(Counter(row[0] for row in keys.limit(FIRST).collect()))
    here, there = hashes
    met = (count * there[key] for key, count in here.items())
    # One row that meets one other says nothing of rows that meet many.
    return sum(pairs for pairs in met if pairs > 1) / max(here.total() * there.total(), 1)
