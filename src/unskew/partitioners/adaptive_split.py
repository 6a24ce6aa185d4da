"""Adaptive split: a planned split that each source plans again as its stream goes on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from unskew.checking import check_fields
from unskew.errors import ParameterError
from unskew.partitioners.contract import Need, PartitionerBase, check_epsilon, check_workers
from unskew.partitioners.planned_split import PlannedSplit
from unskew.partitioners.split_replanning import ReplanningRouter
from unskew.partitioners.static import SplitTable


@dataclass(frozen=True)
class AdaptiveSplit(PartitionerBase):
    """Send keys as a planned split does, with a new plan after every `interval` of rows.

    A source makes its plans itself, from a sketch of `counters` keys; a key keeps its workers
    while they fit. Within an interval no worker takes more than 1 + `epsilon` times its share, and
    rows of a key whose workers are full go to others. The first interval follows `start`, or the
    hash of each key without it.

    When: partial results merge and key frequencies are not known, or drift. Not when they are
        known: a planned split needs no memory of the stream and makes fewer replicas.
    Cost: O(parts) time per row of a split key, O(1) of others; O(counters) memory per source, no
        coordination. More replicas than a planned split: keys overflow until the first plan is
        made, and where an interval differs from the one before.
    Paper: ours, after McNaughton's wrap-around rule and consistent hashing with bounded loads.

    >>> import numpy as np
    >>> stream = np.tile(np.array([0, 2**63], dtype=np.uint64), 1000)
    >>> split = AdaptiveSplit(workers=4, interval=200)
    >>> np.bincount(split.router().route(stream)).max() <= 1.02 * stream.size / 4
    np.True_
    """

    scheme: ClassVar[str] = "adaptive-split"
    need: ClassVar[Need] = Need.MERGEABLE

    workers: int
    start: PlannedSplit | None = None
    epsilon: float = 0.02
    interval: int = 100_000
    counters: int = 1000

    def __post_init__(self) -> None:
        check_fields(self)
        check_workers(self.workers)
        check_epsilon(self.epsilon)
        if self.interval < 1 or self.counters < 1:
            raise ParameterError(
                f"interval={self.interval} rows and counters={self.counters} must be at least 1"
            )
        if self.start is not None and self.start.workers != self.workers:
            raise ParameterError(
                f"start.workers={self.start.workers} must equal workers={self.workers}"
            )

    @property
    def max_replicas(self) -> int:
        """A key may be anywhere."""
        return self.workers

    def router(self, source: int = 0, sources: int = 1) -> ReplanningRouter:
        """Start the memory of one source: a plan, and a sketch of the interval."""
        table = SplitTable.empty() if self.start is None else self.start.table
        interval = -(-self.interval // sources)
        return ReplanningRouter.start(self.workers, table, interval, self.epsilon, self.counters)
