"""Messages between sources and workers when rows are scheduled by cost."""

from __future__ import annotations

from dataclasses import dataclass

from unskew.sketches.cost_pair import CostPair


@dataclass(frozen=True, slots=True)
class StableCosts:
    """A worker's matrices, once they are stable."""

    worker: int
    pair: CostPair


@dataclass(frozen=True, slots=True)
class TimeRequest:
    """A request for a worker's true time, carried by row number `row` of a source.

    `estimate` is what the source believes of all sources' rows so far, that row included.
    """

    worker: int
    row: int
    epoch: int
    estimate: float


@dataclass(frozen=True, slots=True)
class TimeReply:
    """The reply: by how much the worker's time is above the source's estimate."""

    worker: int
    epoch: int
    delta: float


CostMessage = StableCosts | TimeReply
