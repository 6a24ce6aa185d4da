"""What rows of some cost took: seconds over cost, from a recorded run, never falling.

A record names rows by a key. Here the key is the cost itself, as the bits of the number without
the last ones: costs within an eighth of a doubling share a key, and higher costs have higher keys.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from unskew._spark.planning.machine import Seconds
from unskew._spark.planning.row_costs import RowCosts
from unskew._spark.planning.work_record import Hashes, WorkRecord

_DROPPED = np.uint64(49)  # Bits of a number that a key leaves out: all but three of its fraction.


def keys_of(costs: Seconds) -> Hashes:
    """The keys of costs, which are 0 or more.

    >>> keys_of(np.array([1.0, 1.01, 2.0])).tolist() == keys_of(np.array([1.1, 1.0, 2.2])).tolist()
    True
    """
    bits: Hashes = np.ascontiguousarray(costs, dtype=np.float64).view(np.uint64)
    return bits >> _DROPPED << _DROPPED


@dataclass(frozen=True, slots=True, eq=False)
class CostCurve:
    """Costs, rising, with the mean seconds and the number of rows of each."""

    costs: Seconds
    seconds: Seconds
    rows: Seconds

    @classmethod
    def of(cls, record: WorkRecord) -> CostCurve | None:
        """None if the record has no times of rows with a cost."""
        order = np.argsort(record.keys)
        # The middle of the costs that share a key.
        costs = record.keys[order].view(np.float64) * (1 + 1 / 16)
        rows = record.key_rows[order].astype(np.float64)
        known = (rows > 0) & np.isfinite(costs) & (costs > 0)
        if not known.any() or not record.key_seconds[order][known].sum() > 0:
            return None
        means = record.key_seconds[order][known] / rows[known]
        return cls(costs[known], never_falling(means, rows[known]), rows[known])

    def at(self, costs: Seconds) -> Seconds:
        """The seconds of rows; above all known costs in proportion to the highest."""
        within = np.interp(costs, self.costs, self.seconds)
        seconds: Seconds = within * np.maximum(costs / self.costs[-1], 1.0)
        return seconds

    def in_seconds(self, known: RowCosts) -> RowCosts:
        """The costliest rows by the curve, the others by what a unit took below them."""
        top = self.at(known.top)
        line = known.top[-1] if known.top.size else np.inf
        below = self.costs <= line if (self.costs <= line).any() else np.full(self.costs.size, True)
        spent = float((self.seconds * self.rows)[below].sum())
        unit = spent / float((self.costs * self.rows)[below].sum())
        total = float(top.sum()) + unit * known.rest
        return replace(known, top=top, total=total, rests=unit * known.rests)


def never_falling(values: Seconds, weights: Seconds) -> Seconds:
    """The nearest values that never fall: neighbours that do are averaged.

    >>> never_falling(np.array([1.0, 3.0, 2.0, 4.0]), np.ones(4)).tolist()
    [1.0, 2.5, 2.5, 4.0]
    """
    blocks: list[tuple[float, float, int]] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        block = (value, weight, 1)
        while blocks and blocks[-1][0] > block[0]:
            mean, heft, size = blocks.pop()
            both = heft + block[1]
            block = ((mean * heft + block[0] * block[1]) / both, both, size + block[2])
        blocks.append(block)
    return np.repeat([mean for mean, _, _ in blocks], [size for _, _, size in blocks])
