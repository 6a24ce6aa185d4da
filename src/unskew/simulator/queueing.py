"""A stream on a cluster in virtual time: sources route, workers queue and serve.

The loop goes from event to event (a sample, the end of a slot, acknowledgements to read, a flush of
partial states, machines that change speed, loads to report); between two events rows pass through
the routers and the queues in whole arrays.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from unskew.errors import ParameterError
from unskew.kernels.queueing import Floats
from unskew.partitioners.contract import KeyHashes, Loads, Partitioner
from unskew.simulator.arrivals import Arrivals, Traffic
from unskew.simulator.cluster import Cluster
from unskew.simulator.signalling import SignalBoard, Signalling
from unskew.simulator.sources import Sources
from unskew.simulator.timeline import Recorder, Sample, percentile
from unskew.simulator.virtual import listeners
from unskew.simulator.workers import Workers
from unskew.sketches.key_table import PairSet

NEVER = float("inf")


@dataclass(frozen=True, slots=True)
class QueueingResult:
    """How a run ended, and its samples."""

    messages: int
    completed: int
    seconds: float
    loads: Loads
    queue: Loads
    latency_mean: float
    latency_p50: float
    latency_p99: float
    replicas: int
    signals_raised: int
    signals_delivered: int
    partial_states: int
    """States that were sent to the aggregator, over the whole run."""
    largest_flush: int
    """The most states that were held before they were sent."""
    samples: list[Sample]

    @property
    def throughput(self) -> float:
        """Rows completed per second."""
        return self.completed / self.seconds if self.seconds else 0.0


def simulate_queueing(
    stream: Iterable[KeyHashes],
    partitioner: Partitioner,
    cluster: Cluster | None = None,
    traffic: Traffic | None = None,
    *,
    sources: int = 1,
    signalling: Signalling | None = None,
    sample_every: float = 60.0,
    aggregate_every: float | None = None,
) -> QueueingResult:
    """Send `stream` through `partitioner` to the workers of `cluster`.

    With `aggregate_every`, workers send their partial state of every key they have seen since the
    last time to an aggregator that often (in seconds), and forget it.

    Cost: O(1) time per message besides the routing, memory for the backlog and for the distinct
        (key, worker) pairs, whatever the length of the stream.

    >>> from unskew.partitioners import ShuffleGrouping
    >>> keys = np.arange(10_000, dtype=np.uint64)
    >>> result = simulate_queueing([keys], ShuffleGrouping(workers=4))
    >>> result.completed + int(result.queue.sum()), result.latency_p99 < 0.05
    (10000, True)
    """
    cluster = cluster or Cluster.equal(partitioner.workers)
    if cluster.workers != partitioner.workers:
        raise ParameterError(
            f"cluster has {cluster.workers} workers, the partitioner {partitioner.workers}; "
            "give both the same number"
        )
    for name, value in (("sample_every", sample_every), ("aggregate_every", aggregate_every)):
        if value is not None and not 0 < value < float("inf"):
            raise ParameterError(f"{name}={value} must be above 0 seconds")
    run = _Run(partitioner, cluster, traffic or Traffic(), sources, signalling or Signalling())
    run.sample_every = sample_every
    run.flush_every = aggregate_every or NEVER
    return run.through(stream)


class _Run:
    """One run: who takes part, and when the next event of each kind is due."""

    def __init__(
        self,
        partitioner: Partitioner,
        cluster: Cluster,
        traffic: Traffic,
        sources: int,
        signalling: Signalling,
    ) -> None:
        self.cluster = cluster
        self.report_every = partitioner.report_every
        self.sources = Sources(partitioner, sources)
        self.workers = Workers(cluster.speeds(0), sources)
        routers = listeners(self.sources.routers)
        self.board = SignalBoard(signalling, self.workers, routers)
        self.arrivals = Arrivals(traffic, traffic.rate * cluster.total)
        self.recorder = Recorder(self.workers, routers)
        self.pairs = PairSet()
        self.unflushed = PairSet()
        self.partial_states = 0
        self.largest_flush = 0
        self.messages = 0
        self.phase = 0
        self.reports = 0
        self.sample_every = NEVER
        self.flush_every = NEVER
        self.samples = self.slots = self.flushes = 0
        self.tick = NEVER

    def through(self, stream: Iterable[KeyHashes]) -> QueueingResult:
        for keys in stream:
            self._pass(keys, self.arrivals.times(keys.size), self.arrivals.work(keys))
        return self._finish()

    def _pass(self, keys: KeyHashes, times: Floats, work: Floats) -> None:
        """Take a chunk of the stream from event to event."""
        done = 0
        while True:
            due = self._next_time()
            stop = done + int(np.searchsorted(times[done:], due))
            stop = min(stop, done + self._messages_left())
            if stop > done:
                self._step(keys[done:stop], times[done:stop], _part(work, done, stop))
                done = stop
            if self._messages_left() == 0:
                self._message_event(float(times[done - 1]) if done else self.arrivals.now)
            if done == keys.size:
                return
            if times[done] >= due:
                self._time_event(due)

    def _step(self, keys: KeyHashes, times: Floats, work: Floats) -> None:
        turn = self.sources.rows % self.workers.sources
        chosen = self.sources.route(keys)
        self.workers.accept(times, chosen, work, turn)
        self.pairs.add(keys, chosen)
        if self.flush_every < NEVER:
            self.unflushed.add(keys, chosen)
        self.messages += keys.size

    def _next_time(self) -> float:
        """When the next event is due that happens at a time."""
        return min(
            (self.samples + 1) * self.sample_every,
            (self.slots + 1) * self.board.signalling.slot if self.board.routers else NEVER,
            (self.flushes + 1) * self.flush_every,
            self.tick,
        )

    def _time_event(self, now: float) -> None:
        if now == self.tick:
            self.board.deliver(now)
            self.tick = now + self.board.signalling.tick if self.board.waiting else NEVER
        if self.board.routers and now == (self.slots + 1) * self.board.signalling.slot:
            self.slots += 1
            self.board.end_slot(now)
            self.tick = now + self.board.signalling.tick if self.board.waiting else NEVER
        if now == (self.flushes + 1) * self.flush_every:
            self.flushes += 1
            self._flush()
        if now == (self.samples + 1) * self.sample_every:
            self.samples += 1
            self.recorder.take(now, self.pairs.size)

    def _messages_left(self) -> int:
        """How many messages may pass before the next event that is counted in messages."""
        left = 2**62
        if self.phase + 1 < len(self.cluster.phases):
            left = self.cluster.phases[self.phase + 1].after - self.messages
        if self.report_every:
            left = min(left, (self.reports + 1) * self.report_every - self.messages)
        return left

    def _message_event(self, now: float) -> None:
        following = self.phase + 1
        if following < len(self.cluster.phases) and (
            self.cluster.phases[following].after == self.messages
        ):
            self.phase = following
            self.workers.change_speeds(now, self.cluster.speeds(following))
        if self.report_every and self.messages == (self.reports + 1) * self.report_every:
            self.reports += 1
            self.sources.report(self.workers.tally.assigned.copy())

    def _flush(self) -> None:
        self.partial_states += self.unflushed.size
        self.largest_flush = max(self.largest_flush, self.unflushed.size)
        self.unflushed = PairSet()

    def _finish(self) -> QueueingResult:
        """Take the last sample, unless it would cover too little to mean anything."""
        now = self.arrivals.now
        self.workers.advance(now)
        if self.flush_every < NEVER:
            self._flush()
        passed = self.recorder.elapsed(now)
        if passed > 0 and (not self.recorder.samples or passed >= self.sample_every / 2):
            self.recorder.take(now, self.pairs.size)
        tally = self.workers.tally
        completed = int(tally.completed.sum())
        return QueueingResult(
            messages=self.messages,
            completed=completed,
            seconds=now,
            loads=tally.assigned.copy(),
            queue=self.workers.queues.length.copy(),
            latency_mean=float(tally.latency.sum()) / max(completed, 1),
            latency_p50=percentile(tally.histogram, 0.50),
            latency_p99=percentile(tally.histogram, 0.99),
            replicas=self.pairs.size,
            signals_raised=self.board.raised,
            signals_delivered=self.board.delivered,
            partial_states=self.partial_states,
            largest_flush=self.largest_flush,
            samples=self.recorder.samples,
        )


def _part(work: Floats, start: int, stop: int) -> Floats:
    return work if work.size == 1 else work[start:stop]
