"""The power of two choices per row (not per key)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from unskew.checking import check_fields
from unskew.kernels.spreading import send_to_less_loaded_of_two
from unskew.partitioners.contract import (
    KeyHashes,
    Loads,
    Need,
    PartitionerBase,
    WorkerIds,
    check_seed,
    check_workers,
)


@dataclass(frozen=True, slots=True)
class TwoRandomChoices(PartitionerBase):
    """Draw two workers for every row; the less loaded one takes it.

    When: as a yardstick. Round robin levels rows as well and remembers less; the two differ only
        where workers take rows at their own speed.
    Cost: O(1) time per row, O(workers) memory per source, no coordination.
    Paper: PoTC of Consistent Grouping, section V-A (the other paper's PoTC is `StaticTwoChoices`).

    >>> loads = np.bincount(TwoRandomChoices(workers=4).router().route(np.zeros(4000, np.uint64)))
    >>> int(loads.max()) <= 1010
    True
    """

    scheme: ClassVar[str] = "two-random-choices"
    need: ClassVar[Need] = Need.MERGEABLE

    workers: int
    distinct: bool = True
    seed: int = 42

    def __post_init__(self) -> None:
        check_fields(self)
        check_workers(self.workers)
        check_seed(self.seed)

    @property
    def max_replicas(self) -> int:
        """A key may be anywhere."""
        return self.workers

    def router(self, source: int = 0, sources: int = 1) -> TwoRandomChoicesRouter:
        """Start the memory of one source: a load per worker and the number of rows so far."""
        seed = np.random.SeedSequence([self.seed, source]).generate_state(1, np.uint64)[0]
        return TwoRandomChoicesRouter(seed, self.distinct, np.zeros(self.workers, dtype=np.int64))


@dataclass(slots=True)
class TwoRandomChoicesRouter:
    """One source's own count of the rows it has sent to each worker."""

    seed: np.uint64
    distinct: bool
    loads: Loads
    rows: int = 0

    def route(self, keys: KeyHashes) -> WorkerIds:
        """The worker of every key, in order."""
        out = np.empty(keys.size, dtype=np.int32)
        send_to_less_loaded_of_two(self.seed, np.uint64(self.rows), self.distinct, self.loads, out)
        self.rows += keys.size
        return out
