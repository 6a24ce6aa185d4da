"""Proactive shuffle grouping (POSG): each row to the worker with the least expected cost."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

import numpy as np

from unskew.checking import check_fields
from unskew.errors import ParameterError
from unskew.kernels.proactive import (
    EPOCH,
    RESYNC,
    RUN,
    SENT,
    STATE,
    TURN,
    Scheduler,
    assign_one,
    assign_until_asking,
    take_matrices,
    take_reply,
)
from unskew.partitioners.contract import (
    KeyHashes,
    Need,
    PartitionerBase,
    WorkerIds,
    WorkerReport,
    check_workers,
)
from unskew.partitioners.cost_messages import StableCosts, TimeReply, TimeRequest
from unskew.partitioners.cost_tracking import CostTracker, check_window
from unskew.sketches.cost_pair import CostPair, CostShape, LearnedCosts

Clock = Literal["spent", "finish"]


class SchedulerState(enum.IntEnum):
    """The states of a source."""

    ROUND_ROBIN = 0
    """Costs are not yet known from every worker."""
    SEND_ALL = 1
    """The next rows carry a request to each worker, in turn."""
    WAIT_ALL = 2
    """Scheduling by estimates while replies come in."""
    RUN = 3
    """Scheduling by estimates that all workers have corrected."""


@dataclass(frozen=True, slots=True)
class Proactive(PartitionerBase):
    """Send each row to the worker that has been given the least expected cost.

    Rows go round robin until every worker has reported what content costs there; then a row goes
    to the least loaded worker, which is charged the row's estimate. With fresh reports, and after
    `resync` rows without any (None: a window for every worker; 0: never), the source asks the
    workers for their true times and corrects its own: when they `"finish"`, or what they have
    `"spent"` on rows, which gives a worker that had nothing to do for a while all that it missed,
    in one burst. A worker reports when its costs moved by no more than `tolerance` from one window
    to the next; the default is met after two windows. `learned` costs, taken to hold on every
    worker, spare the round robin.

    When: rows are independent and their cost depends on content. Not when the cost is the same
        for all rows or unrelated to the content: then it is round robin with more work.
    Cost: O(workers + log 1/delta) time per row, workers * 3.5 kB memory per source; a worker
        sends its matrices at most every second window.
    Paper: Rivetti et al., Proactive Online Shuffle Grouping, section III. Asking again without
        new matrices, and finish times, are not in its text but in the authors' code for Storm; with
        the text's tolerance of 0.05 its figure 10 could not leave round robin when it does.

    >>> costly, cheap = np.uint64(1), np.uint64(2)
    >>> posg = Proactive(workers=2)
    >>> router, pair = posg.router(), CostPair(posg.shape)
    >>> pair.add(np.array([costly, cheap]), np.array([10.0, 1.0]))
    >>> router.learn(WorkerReport(costs=(StableCosts(0, pair), StableCosts(1, pair))))
    >>> router.route(np.array([costly, cheap, cheap, cheap])).tolist()
    [0, 1, 1, 1]
    """

    scheme: ClassVar[str] = "posg"
    need: ClassVar[Need] = Need.ANY_ROW

    workers: int
    window: int = 1024
    tolerance: float = 1.0
    epsilon: float = 0.05
    delta: float = 0.1
    seed: int = 42
    clock: Clock = "finish"
    resync: int | None = None
    learned: LearnedCosts | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        check_workers(self.workers)
        check_window(self.window, self.tolerance)
        if self.clock not in get_args(Clock):
            raise ParameterError(f"clock={self.clock!r} is not one of {', '.join(get_args(Clock))}")
        if self.resync is not None and self.resync < 0:
            raise ParameterError(f"resync={self.resync} is below 0; 0 asks only after reports")
        shape = self.shape  # raises if no matrix has this shape
        if self.learned is not None:
            CostPair(shape, self.learned.counts, self.learned.costs)  # raises if the sizes differ

    @property
    def shape(self) -> CostShape:
        """The matrices that sources and workers share."""
        return CostShape(self.epsilon, self.delta, self.seed)

    @property
    def max_replicas(self) -> int:
        """A key may be anywhere."""
        return self.workers

    @property
    def feedback_settings(self) -> frozenset[str]:
        """When costs are reported and asked for; without any costs, the matrices' shape too."""
        asking = frozenset({"window", "tolerance", "clock", "resync"})
        return asking if self.learned is not None else asking | {"epsilon", "delta", "seed"}

    @property
    def without_feedback(self) -> str:
        """Costs that were not learned before stay unknown."""
        return "" if self.learned is not None else "round robin"

    def tracker(self, worker: int) -> CostTracker:
        """Start the memory of one worker."""
        return CostTracker(worker, self.window, self.tolerance, self.shape)

    def router(self, source: int = 0, sources: int = 1) -> ProactiveRouter:
        """Start the memory of one source: a pair of matrices and an estimate per worker."""
        first = source * self.workers // sources
        router = ProactiveRouter(_scheduler(self.workers, self.shape, first), sources)
        rows = self.window * self.workers if self.resync is None else self.resync
        router.memory.state[RESYNC] = -(-rows // sources)
        if self.learned is not None:
            _know(router.memory, CostPair(self.shape, self.learned.counts, self.learned.costs))
        return router


@dataclass(slots=True)
class ProactiveRouter:
    """One source's estimates, and the requests that its rows carry.

    A source estimates what it has sent itself and takes the others for alike. Would each of them
    make up for the whole of what a worker lacks, they would give it that many times too much.
    """

    memory: Scheduler
    sources: int = 1
    rows: int = 0
    _requests: list[TimeRequest] = field(default_factory=list)

    @property
    def state(self) -> SchedulerState:
        """The current state of the source."""
        return SchedulerState(int(self.memory.state[STATE]))

    def route(self, keys: KeyHashes) -> WorkerIds:
        """The worker of every key, in order."""
        out = np.empty(keys.size, dtype=np.int32)
        done = assign_until_asking(keys, self.memory, out)
        while done < keys.size:
            out[done] = assign_one(keys[done], self.memory)
            self._ask(int(out[done]), self.rows + done)
            done += 1
            done += assign_until_asking(keys[done:], self.memory, out[done:])
        self.rows += keys.size
        return out

    def learn(self, report: WorkerReport) -> None:
        """Learn from matrices and replies, in order."""
        for message in report.costs:
            match message:
                case StableCosts(worker, pair):
                    take_matrices(worker, pair.counts, pair.costs, self.memory)
                case TimeReply(worker, epoch, delta):
                    take_reply(worker, epoch, delta / self.sources, self.memory)

    def take_requests(self) -> tuple[TimeRequest, ...]:
        """The requests that rows routed since the last call carry."""
        requests, self._requests = tuple(self._requests), []
        return requests

    def _ask(self, worker: int, row: int) -> None:
        estimate = float(self.memory.estimates[worker]) * self.sources
        self._requests.append(TimeRequest(worker, row, int(self.memory.state[EPOCH]), estimate))


def _scheduler(workers: int, shape: CostShape, first: int) -> Scheduler:
    size = (workers, shape.rows, shape.columns)
    state = np.zeros(6, dtype=np.int64)
    state[TURN] = first
    return Scheduler(
        counts=np.zeros(size, dtype=np.int64),
        costs=np.zeros(size),
        means=np.zeros(workers),
        known=np.zeros(workers, dtype=np.bool_),
        estimates=np.zeros(workers),
        deltas=np.zeros(workers),
        replied=np.zeros(workers, dtype=np.bool_),
        state=state,
        words=shape.words(),
    )


def _know(memory: Scheduler, pair: CostPair) -> None:
    """Start in RUN. Sources that share nothing must not all begin with the same worker."""
    workers = memory.estimates.size
    memory.counts[:] = pair.counts
    memory.costs[:] = pair.costs
    memory.means[:] = pair.mean
    memory.known[:] = True
    memory.state[STATE] = RUN
    memory.state[SENT] = workers
    turns = (np.arange(workers) - memory.state[TURN]) % workers
    memory.estimates[:] = turns * (1e-9 * pair.mean)
