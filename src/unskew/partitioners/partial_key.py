"""Partial key grouping: a few workers per key, the least loaded takes the row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from unskew.checking import check_fields
from unskew.errors import ParameterError
from unskew.kernels.choices import prime_at_least, send_to_least_loaded
from unskew.partitioners.contract import (
    KeyHashes,
    Loads,
    Need,
    PartitionerBase,
    WorkerIds,
    WorkerReport,
    check_workers,
)

Estimate = Literal["local", "global", "probing"]


@dataclass(frozen=True, slots=True)
class PartialKey(PartitionerBase):
    """Split each key over `choices` workers, sending each row to the least loaded one.

    A source knows the loads it made itself (`estimate="local"`), those of all sources
    (`"global"`: the sources share one router), or its own, corrected to the true ones every
    `period` messages of the stream (`"probing"`).

    When: keys are skewed and partial results merge. Not when one key holds more than
        choices/workers of the rows: its workers stay overloaded whatever you do.
    Cost: O(choices) time per row, O(workers) memory per source, no coordination with "local".
    Paper: Nasir et al., Partial Key Grouping, sections 3 and 6.2.

    >>> one_hot_key = np.zeros(1000, dtype=np.uint64)
    >>> workers = PartialKey(workers=8).router().route(one_hot_key)
    >>> np.unique(workers, return_counts=True)[1].tolist()
    [500, 500]
    """

    scheme: ClassVar[str] = "pkg"

    workers: int
    choices: int = 2
    estimate: Estimate = "local"
    period: int = 100_000
    distinct: bool = True

    def __post_init__(self) -> None:
        check_fields(self)
        check_workers(self.workers)
        check_choices(self.choices, self.workers, self.distinct)
        if self.estimate not in get_args(Estimate):
            raise ParameterError(
                f"estimate={self.estimate!r} is not one of {', '.join(get_args(Estimate))}"
            )
        if self.period < 1:
            raise ParameterError(f"period={self.period} must be at least 1 message")

    @property
    def need(self) -> Need:
        """Whole keys with a single choice, else mergeable parts."""
        return Need.WHOLE_KEY if self.max_replicas == 1 else Need.MERGEABLE

    @property
    def max_replicas(self) -> int:
        """A key is found on its choices only."""
        return min(self.choices, self.workers)

    @property
    def coordinated(self) -> bool:
        """Only a global estimate binds the sources together."""
        return self.estimate == "global"

    @property
    def report_every(self) -> int | None:
        """The probing period."""
        return self.period if self.estimate == "probing" else None

    @property
    def feedback_settings(self) -> frozenset[str]:
        """The period says when loads are reported."""
        return frozenset({"period"})

    def router(self, source: int = 0, sources: int = 1) -> PartialKeyRouter:
        """Start the memory of one source: a load per worker."""
        choices = self.max_replicas if self.distinct else self.choices
        return PartialKeyRouter(choices, self.distinct, np.zeros(self.workers, dtype=np.int64))


@dataclass(slots=True)
class PartialKeyRouter:
    """One source's estimate of the rows that each worker has been given."""

    choices: int
    distinct: bool
    loads: Loads

    def route(self, keys: KeyHashes) -> WorkerIds:
        """The worker of every key, in order."""
        out = np.empty(keys.size, dtype=np.int32)
        prime = np.uint64(prime_at_least(self.loads.size))
        send_to_least_loaded(keys, self.choices, self.distinct, prime, self.loads, out)
        return out

    def learn(self, report: WorkerReport) -> None:
        """Replace the estimate by the true loads, if the report has them."""
        if report.loads is not None:
            self.loads[:] = report.loads


def check_choices(choices: int, workers: int, distinct: bool) -> None:
    """Raise unless 1 <= choices <= workers; with a single worker, two choices are that worker."""
    if choices < 1 or (distinct and choices > max(workers, 2)):
        raise ParameterError(
            f"choices={choices} is not in 1..workers={workers}; "
            "give fewer choices, or distinct=False to let them repeat"
        )
