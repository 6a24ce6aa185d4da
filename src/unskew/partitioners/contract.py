"""What a partitioner and a router guarantee, as three small protocols.

A *partitioner* describes a scheme: frozen, comparable, printable; it travels to executors and has
a JSON form. A *router* is one source's running memory of it.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from unskew.checking import check_number, check_whole
from unskew.errors import ParameterError, UnknownNameError
from unskew.kernels import KeyHashes, Loads, WorkerIds
from unskew.partitioners.cost_messages import CostMessage
from unskew.partitioners.static import StaticRoutes

__all__ = [
    "FeedbackRouter",
    "KeyHashes",
    "Loads",
    "Need",
    "Partitioner",
    "PartitionerBase",
    "Router",
    "WorkerIds",
    "WorkerReport",
    "check_epsilon",
    "check_seed",
    "check_workers",
]


class Need(enum.Enum):
    """What the work asks of the rows of one key, the strongest guarantee first."""

    WHOLE_KEY = "whole-key"
    """All rows of a key meet on one worker: joins, sessions, any function of a whole group."""
    MERGEABLE = "mergeable"
    """Rows of a key may be split, and partial results are merged: counts, sums, sketches."""
    ANY_ROW = "any-row"
    """Rows are independent of each other: a stateless map."""

    def keeps(self, wanted: Need) -> bool:
        """Whether a scheme with this guarantee is legal for work that needs `wanted`.

        On how many workers a key may be is another matter (`max_replicas`): partial results merge
        from any number of them.

        >>> Need.WHOLE_KEY.keeps(Need.MERGEABLE), Need.ANY_ROW.keeps(Need.WHOLE_KEY)
        (True, False)
        """
        order = list(Need)
        return order.index(self) <= order.index(wanted)


def need_named(name: str | Need) -> Need:
    """The need of this name."""
    if isinstance(name, Need):
        return name
    for need in Need:
        if need.value == name:
            return need
    raise UnknownNameError("need", str(name), [need.value for need in Need])


def _no_workers() -> NDArray[np.int32]:
    return np.empty(0, dtype=np.int32)


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """What workers report to one source: rows given to each, who is busy or idle, what rows cost.

    `busy` and `idle` list worker ids, the earliest signal first; so do the messages in `costs`.
    """

    loads: Loads | None = None
    busy: WorkerIds = field(default_factory=_no_workers)
    idle: WorkerIds = field(default_factory=_no_workers)
    costs: tuple[CostMessage, ...] = ()


class Router(Protocol):
    """One source's memory. Cutting a stream into batches never changes a route."""

    def route(self, keys: KeyHashes) -> WorkerIds:
        """The worker of every key, in order."""
        ...


@runtime_checkable
class FeedbackRouter(Protocol):
    """A router that learns from reports of the workers."""

    def route(self, keys: KeyHashes) -> WorkerIds:
        """The worker of every key, in order."""
        ...

    def learn(self, report: WorkerReport) -> None:
        """Learn from what the workers report; only rows routed later are affected."""
        ...


class Partitioner(Protocol):
    """The description of a scheme: a frozen dataclass that can be built from `workers` alone."""

    scheme: ClassVar[str]
    """The name on the command line and in JSON."""
    uses_frequencies: ClassVar[bool]
    """Whether the scheme is made from the frequencies of keys, counted before."""

    @property
    def workers(self) -> int:
        """How many workers there are, numbered from 0."""
        ...

    @property
    def need(self) -> Need:
        """The strongest guarantee that the scheme gives."""
        ...

    @property
    def max_replicas(self) -> int:
        """On how many workers one key may be found."""
        ...

    @property
    def coordinated(self) -> bool:
        """Whether all sources must share one router for the guarantees to hold."""
        ...

    @property
    def report_every(self) -> int | None:
        """After how many messages of the whole stream the routers ask for the true loads."""
        ...

    @property
    def feedback_settings(self) -> frozenset[str]:
        """The settings that have no effect unless workers report to the routers."""
        ...

    @property
    def without_feedback(self) -> str:
        """What the scheme is where no worker reports, in words; empty if it needs no reports."""
        ...

    @property
    def static(self) -> StaticRoutes | None:
        """The routes as plain data, if the scheme does not learn as it routes."""
        ...

    @property
    def cut(self) -> KeyHashes | None:
        """The only keys that are split over several workers; None if any key may be."""
        ...

    def router(self, source: int = 0, sources: int = 1) -> Router:
        """Start the memory of one of `sources` sources."""
        ...


class PartitionerBase:
    """Defaults: sources share no router and ask for no loads; routers learn as they route."""

    __slots__ = ()
    uses_frequencies: ClassVar[bool] = False

    @property
    def coordinated(self) -> bool:
        """Whether all sources must share one router for the guarantees to hold."""
        return False

    @property
    def report_every(self) -> int | None:
        """After how many messages of the whole stream the routers ask for the true loads."""
        return None

    @property
    def feedback_settings(self) -> frozenset[str]:
        """The settings that have no effect unless workers report to the routers."""
        return frozenset()

    @property
    def without_feedback(self) -> str:
        """What the scheme is where no worker reports, in words; empty if it needs no reports."""
        return ""

    @property
    def static(self) -> StaticRoutes | None:
        """The routes as plain data, if the scheme does not learn as it routes."""
        return None

    @property
    def cut(self: Partitioner) -> KeyHashes | None:
        """The only keys that are split over several workers; None if any key may be."""
        if self.static is not None:
            return self.static.cut
        return np.empty(0, dtype=np.uint64) if self.max_replicas == 1 else None


MOST_WORKERS = 2**24
"""Beyond it the loads of the workers alone would fill a machine."""


def check_seed(seed: int) -> None:
    """Raise unless numpy takes the seed."""
    if not 0 <= seed < 2**63:
        raise ParameterError(f"seed={seed} is not in 0..2**63-1; use any number in it")


def check_workers(workers: int) -> None:
    """Raise unless the number of workers is in range."""
    check_whole("workers", workers)
    if not 1 <= workers <= MOST_WORKERS:
        raise ParameterError(
            f"workers={workers} is not in 1..{MOST_WORKERS}; one to a few workers per core is usual"
        )


def check_epsilon(epsilon: float) -> None:
    """Raise unless the slack is above 0 and finite: a worker needs room for the next row."""
    check_number("epsilon", epsilon)
    if not 0 < epsilon < float("inf"):
        raise ParameterError(
            f"epsilon={epsilon} is not above 0; 0.01 lets a worker hold 1 % more than the mean"
        )
