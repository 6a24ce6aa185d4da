"""What sources and workers tell each other when rows are scheduled by cost."""

from __future__ import annotations

from dataclasses import dataclass

from unskew.sketches.cost_pair import CostPair


@dataclass(frozen=True, slots=True)
class StableCosts:
    """A worker's matrices, which have stopped moving."""

    worker: int
    pair: CostPair


@dataclass(frozen=True, slots=True)
class TimeRequest:
    """Rides on row number `row` of a source: how long have you really worked?

    `estimate` is what the source believes of all sources' rows so far, that row included.
    """

    worker: int
    row: int
    epoch: int
    estimate: float


@dataclass(frozen=True, slots=True)
class TimeReply:
    """The answer: by how much the worker's time is above the source's estimate."""

    worker: int
    epoch: int
    delta: float


CostMessage = StableCosts | TimeReply
