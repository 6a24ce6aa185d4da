"""The power of random choices: the first worker of a key's sequence that is not full."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np

from unskew.checking import check_fields
from unskew.errors import ParameterError
from unskew.kernels.capacity import Progress, no_progress, send_to_first_with_room
from unskew.kernels.choices import prime_at_least
from unskew.partitioners.contract import (
    KeyHashes,
    Loads,
    Need,
    PartitionerBase,
    WorkerIds,
    check_epsilon,
    check_workers,
)


@dataclass(frozen=True, slots=True)
class RandomChoices(PartitionerBase):
    """Send each row to the first worker of its key's sequence with room.

    A worker has room below (1 + epsilon) times the mean load, the current row included, so no
    worker is ever more than epsilon above the mean (and one row). With a `window` the loads are
    halved after every so many rows: what was long ago counts less, and a worker's slack stays a
    share of the last rows instead of growing with the stream.

    When: keys are very skewed, partial results merge, and nothing is known of the keys. Not when
        their frequencies are known: a planned split is as level with fewer replicas.
    Cost: O(1) amortised time per row, O(workers) memory per source, no coordination.
    Paper: Nasir et al., Consistent Grouping, Algorithm 1 (PoRC).

    >>> loads = np.bincount(RandomChoices(workers=4).router().route(np.zeros(4000, np.uint64)))
    >>> int(loads.max())
    1010
    """

    scheme: ClassVar[str] = "porc"
    need: ClassVar[Need] = Need.MERGEABLE

    workers: int
    epsilon: float = 0.01
    distinct: bool = True
    window: int = 0

    def __post_init__(self) -> None:
        check_fields(self)
        check_workers(self.workers)
        check_epsilon(self.epsilon)
        check_forgetting(self.window)

    @property
    def max_replicas(self) -> int:
        """A key hot enough spreads over all workers."""
        return self.workers

    def router(self, source: int = 0, sources: int = 1) -> RandomChoicesRouter:
        """Start the memory of one source: a load per worker."""
        return RandomChoicesRouter.start(self.workers, self.epsilon, self.distinct, self.window)


@dataclass(slots=True)
class RandomChoicesRouter:
    """One source's own loads; `progress` only saves it from searching the same way twice."""

    epsilon: float
    distinct: bool
    window: int
    loads: Loads
    progress: Progress = field(repr=False)
    rows: int = 0
    """Rows in the loads."""
    since: int = 0
    """Rows since the loads were halved."""

    @classmethod
    def start(cls, workers: int, epsilon: float, distinct: bool, window: int) -> Self:
        """A source that has sent nothing yet."""
        loads = np.zeros(workers, dtype=np.int64)
        return cls(epsilon, distinct, window, loads, no_progress(workers))

    def route(self, keys: KeyHashes) -> WorkerIds:
        """The worker of every key, in order."""
        out = np.empty(keys.size, dtype=np.int32)
        if not self.window:
            self._send(keys, out)
            return out
        done = 0
        while done < keys.size:
            stop = min(keys.size, done + self.window - self.since)
            self._send(keys[done:stop], out[done:stop])
            self.since += stop - done
            done = stop
            if self.since == self.window:
                self._forget()
        return out

    def _send(self, keys: KeyHashes, out: WorkerIds) -> None:
        prime = np.uint64(prime_at_least(self.loads.size))
        send_to_first_with_room(
            keys, self.epsilon, self.distinct, prime, self.loads, self.rows, self.progress, out
        )
        self.rows += keys.size

    def _forget(self) -> None:
        self.since = 0
        self.loads >>= 1
        self.rows = int(self.loads.sum())
        self.progress.limits[:] = 0  # What was full then need not be now.


def check_forgetting(window: int) -> None:
    """Raise unless the window is 0 or above."""
    if window < 0:
        raise ParameterError(f"window={window} is below 0; 0 never forgets")
