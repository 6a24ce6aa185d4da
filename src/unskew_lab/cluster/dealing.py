"""A source that deals rows to long-running tasks as they arrive, by several schemes at once.

Each scheme has its own instances, so that whatever slows the machine down slows them all alike.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Listener
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from unskew.errors import SessionError
from unskew.partitioners import Partitioner, Proactive
from unskew.partitioners.contract import WorkerReport
from unskew.partitioners.cost_messages import CostMessage, StableCosts, TimeReply
from unskew.partitioners.proactive import ProactiveRouter, SchedulerState
from unskew.simulator.completion import CostlyRows
from unskew.sketches.cost_pair import CostPair
from unskew_lab.serving import Address, Done, Place, Sent, serve

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TICK = 0.002
"""Seconds between two looks at what has arrived."""
PATIENCE = 120.0
"""Seconds within which all tasks must have started, and have ended after the last row."""


@dataclass(frozen=True, slots=True, eq=False)
class Dealt:
    """One scheme's trial."""

    times: NDArray[np.float64]
    """Of each row from its arrival until it was done, in seconds."""
    left: int | None = None
    """The first row that was not dealt in turn for want of costs, to a tick."""
    heard: tuple[int, ...] = ()
    """The rows before which the source heard new matrices."""
    messages: int = 0
    """Matrices and replies."""
    late: float = 0.0
    """How much later than it arrived a row was dealt, at most."""


@dataclass(slots=True)
class Source:
    """One scheme: its router, and the connections to its instances."""

    partitioner: Partitioner
    connections: dict[int, Connection] = field(default_factory=dict)
    inbox: SimpleQueue[Sequence[CostMessage]] = field(default_factory=SimpleQueue)
    finish: NDArray[np.float64] = field(default_factory=lambda: np.empty(0))
    router: Any = None
    left: int | None = None
    heard: list[int] = field(default_factory=list)
    messages: int = 0

    def begin(self, rows: int) -> None:
        """Start with an empty memory."""
        _warm(self.partitioner)
        self.router = self.partitioner.router()
        self.finish = np.full(rows, np.nan)

    def deal(self, rows: CostlyRows, first: int, last: int, phases: NDArray[np.int32]) -> None:
        """Send rows first..last-1 to their instances."""
        self._learn(first)
        keys = rows.keys[first:last]
        workers = self.router.route(keys)
        requests = {}
        if isinstance(self.router, ProactiveRouter):
            requests = {each.row: each for each in self.router.take_requests()}
            if self.left is None and self.router.state != SchedulerState.ROUND_ROBIN:
                self.left = first
        factors = rows.factors_for(self.partitioner.workers)[phases[first:last], workers]
        costs = rows.costs[first:last] * factors
        numbers = np.arange(first, last)
        for worker in np.unique(workers).tolist():
            here = workers == worker
            mine = numbers[here]
            asked = {row: requests[row] for row in mine.tolist() if row in requests}
            self.connections[worker].send(Sent(mine, keys[here], costs[here], asked))

    def _learn(self, row: int) -> None:
        while True:
            try:
                told = self.inbox.get_nowait()
            except Empty:
                return
            self.messages += len(told)
            if any(hasattr(each, "pair") for each in told):
                self.heard.append(row)
            self.router.learn(WorkerReport(costs=tuple(told)))

    def listen(self, connection: Connection) -> None:
        """Take what an instance says until it ends."""
        while (message := connection.recv()) is not None:
            if isinstance(message, Done):
                self.finish[message.rows] = message.finish
            else:
                self.inbox.put(message)


def _warm(scheme: Partitioner) -> None:
    """Compile, or load, what the first rows would wait for."""
    keys = np.arange(2 * scheme.workers, dtype=np.uint64)
    router = scheme.router()
    router.route(keys)
    if isinstance(scheme, Proactive) and isinstance(router, ProactiveRouter):
        pair = CostPair(scheme.shape)
        pair.add(keys, np.ones(keys.size))
        told = tuple(StableCosts(worker, pair) for worker in range(scheme.workers))
        router.learn(WorkerReport(costs=told))
        router.route(keys)
        asked = router.take_requests()
        replies = tuple(TimeReply(each.worker, each.epoch, 0.0) for each in asked)
        router.learn(WorkerReport(costs=replies))
        router.route(keys)


class Instances(Protocol):
    """What runs the instances."""

    error: BaseException | None

    def begin(self, address: Address, secret: bytes, places: Sequence[Place]) -> None:
        """Start `serve` for each place, all at once."""
        ...

    def end(self, seconds: float) -> None:
        """Wait for them to end."""
        ...


def deal_to_tasks(
    spark: SparkSession, schemes: Mapping[str, Partitioner], rows: CostlyRows
) -> dict[str, Dealt]:
    """Run one stream under all schemes at once, on Spark tasks; times are in seconds."""
    return deal(_Tasks(spark), schemes, rows)


def deal(
    instances: Instances, schemes: Mapping[str, Partitioner], rows: CostlyRows
) -> dict[str, Dealt]:
    """Run one stream under all schemes at once; arrivals and costs are in seconds."""
    places = [
        Place(name, worker, scheme if isinstance(scheme, Proactive) else None)
        for name, scheme in schemes.items()
        for worker in range(scheme.workers)
    ]
    secret = secrets.token_bytes(16)
    with Listener(("127.0.0.1", 0), backlog=len(places), authkey=secret) as listener:
        assert isinstance(listener.address, tuple)
        instances.begin(listener.address, secret, places)
        sources = {name: Source(scheme) for name, scheme in schemes.items()}
        for connection, place in _connected(listener, len(places), instances):
            sources[place.scheme].connections[place.worker] = connection
        return _dealt(rows, sources, instances)


def _dealt(rows: CostlyRows, sources: dict[str, Source], instances: Instances) -> dict[str, Dealt]:
    listeners = []
    for source in sources.values():
        source.begin(rows.keys.size)
        for connection in source.connections.values():
            thread = threading.Thread(target=source.listen, args=(connection,), daemon=True)
            thread.start()
            listeners.append(thread)
    late = _in_time(rows, list(sources.values()))
    end = time.monotonic() + PATIENCE
    for thread in listeners:
        thread.join(max(0.0, end - time.monotonic()))
    instances.end(max(1.0, end - time.monotonic()))
    for name, source in sources.items():
        missing = int(np.isnan(source.finish).sum())
        if missing:
            raise SessionError(f"{missing} rows of {name} were not worked off in {PATIENCE} s")
    return {
        name: Dealt(
            source.finish - rows.arrivals, source.left, tuple(source.heard), source.messages, late
        )
        for name, source in sources.items()
    }


def _in_time(rows: CostlyRows, sources: Sequence[Source]) -> float:
    """Deal every row when it arrives; returns how late the latest was."""
    began, phases, late, first = time.time() + 0.1, rows.phases(), 0.0, 0
    connections = [each for source in sources for each in source.connections.values()]
    for connection in connections:
        connection.send(began)
    while first < rows.keys.size:
        now = time.time() - began
        last = int(np.searchsorted(rows.arrivals, now, side="right"))
        if last == first:
            time.sleep(max(TICK, float(rows.arrivals[first]) - now))
            continue
        late = max(late, now - float(rows.arrivals[first]))
        for source in sources:
            source.deal(rows, first, last, phases)
        first = last
    for connection in connections:
        connection.send(None)
    return late


class _Tasks:
    """A job whose tasks are the instances."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.error: BaseException | None = None
        self.thread = threading.Thread()

    def begin(self, address: Address, secret: bytes, places: Sequence[Place]) -> None:
        """Start the job; all of its tasks must run at once."""
        work = _serving(address, secret, tuple(places))
        self.thread = threading.Thread(target=self._run, args=(len(places), work), daemon=True)
        self.thread.start()

    def _run(self, number: int, work: Any) -> None:
        try:
            rows = self.spark.range(0, number, 1, number)
            rows.mapInArrow(work, "rows bigint").collect()
        except BaseException as error:
            self.error = error

    def end(self, seconds: float) -> None:
        """Wait for the job."""
        self.thread.join(seconds)


def _serving(address: Address, secret: bytes, places: Sequence[Place]) -> Any:
    def work(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            done = [serve(address, secret, places[each]) for each in batch.column(0).to_pylist()]
            yield pa.RecordBatch.from_arrays([pa.array(done, pa.int64())], ["rows"])

    return work


def _connected(
    listener: Listener, wanted: int, instances: Instances
) -> Iterator[tuple[Connection, Place]]:
    """The connections of all instances, as they come."""
    come: SimpleQueue[tuple[Connection, Place]] = SimpleQueue()

    def accept() -> None:
        for _ in range(wanted):
            connection = listener.accept()
            come.put((connection, connection.recv()))

    threading.Thread(target=accept, daemon=True).start()
    end = time.monotonic() + PATIENCE
    for number in range(wanted):
        while True:
            try:
                yield come.get(timeout=1.0)
                break
            except Empty:
                if instances.error is not None:
                    raise instances.error from None
                if time.monotonic() > end:
                    raise SessionError(
                        f"{number} of {wanted} tasks run after {PATIENCE} s; all of them must run "
                        "at once: give the session as many slots"
                    ) from None
