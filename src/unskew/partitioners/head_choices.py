"""W-choices and D-choices: as many workers for a frequent key as it needs, two for the rest."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from unskew.checking import check_fields
from unskew.errors import ParameterError
from unskew.kernels.choices import prime_at_least
from unskew.kernels.head import Walks, no_walks, send_head_wider
from unskew.kernels.levelling import ground_level
from unskew.partitioners.contract import (
    KeyHashes,
    Loads,
    Need,
    PartitionerBase,
    WorkerIds,
    check_epsilon,
    check_workers,
)
from unskew.sketches.space_saving import SpaceSaving

COUNTERS_PER_HEAD_KEY = 4
"""SpaceSaving errs by rows/capacity at most, here a quarter of the threshold: a key above the
threshold always is head, a key below three quarters of it never. With capacity 1/threshold every
new key would come in at the threshold and count as head."""
REPLAN_GROWTH = 1.1
"""Counts are kept since the start of the stream, so until it has grown by a tenth no frequency
can have changed enough for another number of choices to matter."""
_TRIED_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class WChoices(PartitionerBase):
    """Send frequent keys to the least loaded of all workers, others to the better of two.

    A key is frequent (head) from `threshold` of the rows on, by default 1/(5 workers).

    When: a few keys are very hot, partial results merge, and nothing is known of the keys. Not
        when replicas matter: every head key is on every worker.
    Cost: O(1) amortised time per row, O(1/threshold) memory per source, no coordination.
    Paper: Nasir et al., When two choices are not enough, after Partial Key Grouping's section 6.

    >>> loads = np.bincount(WChoices(workers=4).router().route(np.zeros(4000, np.uint64)))
    >>> loads.tolist()
    [1000, 1000, 1000, 1000]
    """

    scheme: ClassVar[str] = "w-choices"
    need: ClassVar[Need] = Need.MERGEABLE

    workers: int
    threshold: float | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_workers(self.workers)
        check_threshold(self.threshold)

    @property
    def max_replicas(self) -> int:
        """A head key is everywhere."""
        return self.workers

    def router(self, source: int = 0, sources: int = 1) -> HeadChoicesRouter:
        """Start the memory of one source: loads and a summary of the frequent keys."""
        return HeadChoicesRouter.start(self.workers, self.threshold, source, sources, None)


@dataclass(frozen=True, slots=True)
class DChoices(PartitionerBase):
    """Send frequent keys to the least loaded of d workers, d just large enough; others to two.

    d is the smallest number for which no set of head keys must overload its workers by more than
    `epsilon` of the rows; it is computed again as the stream grows.

    When: as W-choices, with fewer replicas. Not when the frequencies are known: a planned split
        needs fewer still.
    Cost: O(d) time per row, O(1/threshold) memory per source, no coordination.
    Paper: Nasir et al., When two choices are not enough, after Partial Key Grouping's section 6.

    >>> hot = np.zeros(4000, np.uint64)
    >>> np.bincount(DChoices(workers=4).router().route(hot)).tolist()
    [1000, 1000, 1000, 1000]
    """

    scheme: ClassVar[str] = "d-choices"
    need: ClassVar[Need] = Need.MERGEABLE

    workers: int
    threshold: float | None = None
    epsilon: float = 1e-4

    def __post_init__(self) -> None:
        check_fields(self)
        check_workers(self.workers)
        check_threshold(self.threshold)
        check_epsilon(self.epsilon)

    @property
    def max_replicas(self) -> int:
        """A key hot enough needs all workers."""
        return self.workers

    def router(self, source: int = 0, sources: int = 1) -> HeadChoicesRouter:
        """Start the memory of one source: loads and a summary of the frequent keys."""
        return HeadChoicesRouter.start(self.workers, self.threshold, source, sources, self.epsilon)


@dataclass(slots=True)
class HeadChoicesRouter:
    """One source's loads, its summary of frequent keys, and how many choices these have now."""

    threshold: float
    loads: Loads
    level: Loads
    sketch: SpaceSaving = field(repr=False)
    walks: Walks = field(repr=False)
    epsilon: float | None
    head_choices: int
    next_plan: int

    @classmethod
    def start(
        cls,
        workers: int,
        threshold: float | None,
        source: int,
        sources: int,
        epsilon: float | None,
    ) -> HeadChoicesRouter:
        """A source that has sent nothing yet. Without `epsilon` head keys have all workers."""
        share = threshold or 1 / (5 * workers)
        counters = int(np.ceil(COUNTERS_PER_HEAD_KEY / share))
        return cls(
            share,
            loads=np.zeros(workers, dtype=np.int64),
            level=ground_level(workers, cursor=source * workers // sources),
            sketch=SpaceSaving(counters),
            walks=no_walks(counters),
            epsilon=epsilon,
            head_choices=workers,
            next_plan=100 * workers if epsilon else 2**62,
        )

    def route(self, keys: KeyHashes) -> WorkerIds:
        """The worker of every key, in order."""
        out = np.empty(keys.size, dtype=np.int32)
        prime = np.uint64(prime_at_least(self.loads.size))
        start = 0
        while start < keys.size:
            stop = min(keys.size, start + self.next_plan - self.sketch.rows)
            send_head_wider(
                keys[start:stop],
                self.threshold,
                self.head_choices,
                prime,
                self.loads,
                self.level,
                self.sketch.summary,
                self.walks,
                out[start:stop],
            )
            start = stop
            if self.sketch.rows == self.next_plan:
                self._plan()
        return out

    def _plan(self) -> None:
        assert self.epsilon is not None
        rows = self.sketch.rows
        head = self.sketch.frequent(least=self.threshold * rows).counts / rows
        self.head_choices = smallest_choices(head, self.loads.size, self.epsilon)
        self.next_plan = int(np.ceil(REPLAN_GROWTH * rows))


def smallest_choices(head: NDArray[np.float64], workers: int, epsilon: float) -> int:
    """The fewest choices that keep workers level, for keys of (falling) frequencies `head`.

    The h most frequent keys with d choices each reach b = n - n((n-1)/n)^(hd) of n workers on
    average. Whatever must fall into these, the h keys, other head keys and tail keys whose choices
    all lie there, may not exceed b(1/n + epsilon).

    >>> smallest_choices(np.array([0.3]), workers=10, epsilon=1e-4)
    6
    >>> smallest_choices(np.array([]), workers=10, epsilon=1e-4)
    2
    """
    if head.size == 0:
        return min(2, workers)
    first = np.cumsum(head)
    other_head, tail = first[-1] - first, max(0.0, 1.0 - float(first[-1]))
    prefixes = np.arange(1, head.size + 1)
    for start in range(min(2, workers), workers, _TRIED_AT_ONCE):
        d = np.arange(start, min(start + _TRIED_AT_ONCE, workers))[:, np.newaxis]
        reached = 1 - ((workers - 1) / workers) ** (prefixes * d)
        must = first + reached**d * other_head + reached**2 * tail
        fits = (must <= reached * workers * (1 / workers + epsilon)).all(axis=1)
        if fits.any():
            return start + int(fits.argmax())
    return workers


def check_threshold(threshold: float | None) -> None:
    """Raise unless 0.000001 <= threshold <= 1."""
    if threshold is not None and not 1e-6 <= threshold <= 1:
        raise ParameterError(
            f"threshold={threshold} is not in 0.000001..1; it is the share of the rows from which "
            "a key counts as frequent (default 1/(5 workers))"
        )
