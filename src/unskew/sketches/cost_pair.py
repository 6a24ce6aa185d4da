"""The learned cost of content: twin count-min matrices of frequencies and total costs."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unskew.checking import check_fields
from unskew.errors import ParameterError
from unskew.kernels import KeyHashes, Loads
from unskew.kernels.cost_pair import (
    Floats,
    Pair,
    add_all,
    cost_of_all,
    mean_cost,
    relative_error,
    take_snapshot,
)
from unskew.kernels.mixing import salt_all
from unskew.sketches.frozen import ArrayValue, frozen

_METADATA = b"unskew.cost_pair"


@dataclass(frozen=True, slots=True)
class CostShape:
    """How large the matrices are and which hash functions they share.

    A frequency is too high by more than `epsilon` times all other rows with a probability of at
    most `delta`.

    >>> CostShape(epsilon=0.05, delta=0.1).rows, CostShape(epsilon=0.05, delta=0.1).columns
    (4, 55)
    """

    epsilon: float = 0.05
    delta: float = 0.1
    seed: int = 42

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0 < self.epsilon <= 1:
            raise ParameterError(f"epsilon={self.epsilon} is not in 0..1; 0.05 gives 55 columns")
        if not 0 < self.delta < 1:
            raise ParameterError(f"delta={self.delta} is not between 0 and 1; 0.1 gives 4 rows")
        if not 0 <= self.seed < 2**63:
            raise ParameterError(f"seed={self.seed} is not in 0..2**63-1; use any number in it")

    @property
    def rows(self) -> int:
        """Hash functions."""
        return math.ceil(math.log2(1 / self.delta))

    @property
    def columns(self) -> int:
        """Cells of each hash function."""
        return math.ceil(math.e / self.epsilon)

    def words(self) -> KeyHashes:
        """Three random words for each row's hash function."""
        return _words(self.rows, self.seed)


@lru_cache(maxsize=64)
def _words(rows: int, seed: int) -> KeyHashes:
    numbers = np.arange(1, 3 * rows + 1, dtype=np.uint64)
    return frozen(salt_all(numbers, np.uint64(seed)).reshape(rows, 3), np.uint64)


@dataclass(frozen=True, eq=False, slots=True)
class LearnedCosts(ArrayValue):
    """The cells of a pair, as a value: frozen, comparable, part of a partitioner's JSON."""

    counts: Loads
    costs: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", frozen(self.counts, np.int64))
        object.__setattr__(self, "costs", frozen(self.costs, np.float64))


class CostPair:
    """Estimate what a row will cost from what rows of the same content cost before.

    The estimate is the mean cost in the cell, out of one per hash function, that the fewest rows
    fell into. Content never seen costs the mean of everything seen.

    When: cost depends on content, and there is too much content for a table. Rare content shares
        its cells with other content, and its estimate tends to the mean.
    Cost: O(rows) time per row, 16 bytes * rows * columns memory: 3.5 kB with the defaults.
    Paper: Rivetti et al., Proactive Online Shuffle Grouping, section III.

    >>> pair = CostPair()
    >>> pair.add(np.array([7, 7, 8], dtype=np.uint64), np.array([10.0, 12.0, 1.0]))
    >>> pair.estimate(np.array([7, 8, 99], dtype=np.uint64)).round(2).tolist()
    [11.0, 1.0, 7.67]
    """

    __slots__ = ("matrices", "shape")

    def __init__(
        self,
        shape: CostShape | None = None,
        counts: Loads | None = None,
        costs: Floats | None = None,
    ) -> None:
        self.shape = shape or CostShape()
        size = (self.shape.rows, self.shape.columns)
        self.matrices = Pair(
            np.zeros(size, dtype=np.int64) if counts is None else _sized(counts, size, np.int64),
            np.zeros(size) if costs is None else _sized(costs, size, np.float64),
            self.shape.words(),
        )

    @property
    def counts(self) -> Loads:
        """F: how many rows fell into each cell."""
        return self.matrices.counts

    @property
    def costs(self) -> Floats:
        """W: what they cost in all."""
        return self.matrices.costs

    @property
    def rows(self) -> int:
        """How many rows have been added."""
        return int(self.counts[0].sum())

    @property
    def mean(self) -> float:
        """The mean cost of all rows; 0 before the first."""
        return float(mean_cost(self.counts, self.costs))

    def add(self, keys: KeyHashes, costs: Floats) -> None:
        """Add rows with what each cost."""
        add_all(keys, costs, self.matrices)

    def estimate(self, keys: KeyHashes) -> Floats:
        """What each row will cost."""
        out = np.empty(keys.size)
        cost_of_all(keys, self.matrices, self.mean, out)
        return out

    def snapshot(self) -> Floats:
        """The mean cost in every cell, 0 in an empty one."""
        out = np.empty_like(self.costs)
        take_snapshot(self.counts, self.costs, out)
        return out

    def relative_error(self, snapshot: Floats) -> float:
        """How far all cells together have moved since `snapshot` (the paper's equation 1)."""
        return float(relative_error(self.counts, self.costs, snapshot))

    def merge(self, other: CostPair) -> CostPair:
        """The pair that has seen the rows of both."""
        if self.shape != other.shape:
            raise ParameterError(
                f"{self.shape} and {other.shape} hash differently and cannot be merged; "
                "give all workers the same epsilon, delta and seed"
            )
        return CostPair(self.shape, self.counts + other.counts, self.costs + other.costs)

    def copy(self) -> CostPair:
        """An independent copy of this pair."""
        return CostPair(self.shape, self.counts, self.costs)

    def learned(self) -> LearnedCosts:
        """What is known now, as a value."""
        return LearnedCosts(self.counts, self.costs)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, CostPair)
            and self.shape == other.shape
            and np.array_equal(self.counts, other.counts)
            and np.array_equal(self.costs, other.costs)
        )

    __hash__ = None  # type: ignore[assignment]

    def to_arrow(self) -> pa.RecordBatch:
        """The cells row by row as columns `count` and `cost`; the shape is in the metadata."""
        shape = json.dumps([self.shape.epsilon, self.shape.delta, self.shape.seed])
        fields = [pa.field("count", pa.int64(), False), pa.field("cost", pa.float64(), False)]
        return pa.record_batch(
            [pa.array(self.counts.ravel()), pa.array(self.costs.ravel())],
            schema=pa.schema(fields, {_METADATA: shape.encode()}),
        )

    @classmethod
    def from_arrow(cls, cells: pa.RecordBatch) -> CostPair:
        """The pair that `to_arrow` wrote."""
        metadata = cells.schema.metadata or {}
        if _METADATA not in metadata:
            raise ParameterError("not the cells of a cost pair; create them with CostPair.to_arrow")
        shape = CostShape(*json.loads(metadata[_METADATA]))
        return cls(
            shape,
            cells["count"].to_numpy(zero_copy_only=False),
            cells["cost"].to_numpy(zero_copy_only=False),
        )

    def to_json(self) -> str:
        """The pair as one JSON object."""
        shape = {"epsilon": self.shape.epsilon, "delta": self.shape.delta, "seed": self.shape.seed}
        return json.dumps({**shape, "counts": self.counts.tolist(), "costs": self.costs.tolist()})

    @classmethod
    def from_json(cls, text: str) -> CostPair:
        """The pair that `to_json` wrote."""
        document = json.loads(text)
        shape = CostShape(document["epsilon"], document["delta"], document["seed"])
        return cls(shape, np.array(document["counts"]), np.array(document["costs"]))


def _sized(cells: Loads | Floats, size: tuple[int, int], dtype: type[np.generic]) -> NDArray[Any]:
    if cells.size != size[0] * size[1]:
        raise ParameterError(f"{cells.size} cells are not {size[0]} rows of {size[1]} columns")
    return np.array(cells, dtype=dtype).reshape(size)
