"""The power of two choices per key: chosen once, then remembered."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from unskew.checking import check_fields
from unskew.kernels.choices import prime_at_least
from unskew.kernels.levelling import send_new_keys_to_least_of_choices
from unskew.partitioners.contract import (
    KeyHashes,
    Loads,
    Need,
    PartitionerBase,
    WorkerIds,
    check_workers,
)
from unskew.partitioners.partial_key import check_choices
from unskew.sketches.key_table import KeyTable


@dataclass(frozen=True, slots=True)
class StaticTwoChoices(PartitionerBase):
    """Give a new key to the less loaded of its `choices` workers, and keep it there.

    When: as a yardstick for whole keys. A key that turns hot later stays where it is; a plan made
        from frequencies does better.
    Cost: O(choices) time per row, O(keys) memory, and all sources must share that memory.
    Paper: PoTC of Partial Key Grouping, sections 3.1 and 6.2 (the other paper's PoTC is
        `TwoRandomChoices`).

    >>> router = StaticTwoChoices(workers=8).router()
    >>> np.unique(router.route(np.full(100, 7, dtype=np.uint64))).size
    1
    """

    scheme: ClassVar[str] = "static-two-choices"
    need: ClassVar[Need] = Need.WHOLE_KEY
    max_replicas: ClassVar[int] = 1

    workers: int
    choices: int = 2
    distinct: bool = True

    def __post_init__(self) -> None:
        check_fields(self)
        check_workers(self.workers)
        check_choices(self.choices, self.workers, self.distinct)

    @property
    def coordinated(self) -> bool:
        """A key's worker must be known to all sources."""
        return True

    def router(self, source: int = 0, sources: int = 1) -> StaticTwoChoicesRouter:
        """Start the memory: the worker of every key seen, and a load per worker."""
        return StaticTwoChoicesRouter(
            min(self.choices, self.workers) if self.distinct else self.choices,
            self.distinct,
            np.zeros(self.workers, dtype=np.int64),
        )


@dataclass(slots=True)
class StaticTwoChoicesRouter:
    """The worker of every key seen."""

    choices: int
    distinct: bool
    loads: Loads
    table: KeyTable = field(default_factory=KeyTable)

    def route(self, keys: KeyHashes) -> WorkerIds:
        """The worker of every key, in order."""
        out = np.empty(keys.size, dtype=np.int32)
        prime = np.uint64(prime_at_least(self.loads.size))
        for part in self.table.parts(keys):
            self.table.size += send_new_keys_to_least_of_choices(
                keys[part],
                self.choices,
                self.distinct,
                prime,
                self.loads,
                self.table.slots,
                self.table.values,
                out[part],
            )
        return out
