"""Planning records: one per key, or one per group of similar keys.

A record is the paper's vector (d', d, d^h, v_c, v_S, #): `start`, `previous`, `home`, `cost`,
`memory`, `count`. In the full key space every count is 1. In the compact form costs and states
are first rounded to a few values, so that many keys share a record, and `members` leads back
from a record to its keys.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import NDArray

from unskew.kernels import WorkerIds
from unskew.rebalancing.assignment import Assignment, Rows
from unskew.rebalancing.discretisation import discretise
from unskew.rebalancing.statistics import Amounts

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Records:
    """Keys in groups; the keys of record i are `members[first[i] : first[i] + count[i]]`."""

    assignment: Assignment
    cost: Amounts
    memory: Amounts
    count: Numbers
    previous: WorkerIds
    home: WorkerIds
    start: WorkerIds
    first: Numbers
    members: Numbers

    @classmethod
    def of(cls, assignment: Assignment, r: int | None = None) -> Self:
        """The full key space, or with `r` the compact form of degree R = 2^r."""
        if r is not None:
            return cls._compact(assignment, 2**r)
        each = np.arange(assignment.keys.size, dtype=np.int64)
        return cls(
            assignment, assignment.keys.cost, assignment.keys.memory,
            np.ones(each.size, dtype=np.int64), assignment.previous, assignment.home,
            assignment.start, each, each,
        )  # fmt: skip

    @classmethod
    def _compact(cls, assignment: Assignment, degree: int) -> Self:
        cost, cost_step = discretise(assignment.keys.cost, degree)
        memory, memory_step = (
            (cost, cost_step)
            if assignment.keys.memory is assignment.keys.cost
            else discretise(assignment.keys.memory, degree)
        )
        kind = assignment.home.astype(np.uint64)
        for part, steps in (
            (assignment.start, assignment.workers),
            (assignment.previous, assignment.current.workers),
            (cost_step, int(cost_step.max(initial=0)) + 1),
            (memory_step, int(memory_step.max(initial=0)) + 1),
        ):
            kind = _packed(kind, part, steps)
        members = np.argsort(kind).astype(np.int64)
        kind = kind[members]
        first = np.flatnonzero(np.concatenate([np.ones(min(1, kind.size)), kind[1:] != kind[:-1]]))
        one = members[first]
        count = np.diff(np.append(first, kind.size))
        return cls(
            assignment, cost[one], memory[one], count, assignment.previous[one],
            assignment.home[one], assignment.start[one], first.astype(np.int64), members,
        )  # fmt: skip

    @property
    def entries(self) -> int:
        """How many table entries the records start with."""
        return int(self.count[self.start != self.home].sum())

    def moved_back(self, number: int) -> Records:
        """The records with the `number` entries of least state back home."""
        if number <= 0:
            return self
        away = np.flatnonzero(self.start != self.home)
        away = away[np.argsort(self.memory[away], kind="stable")]
        until = np.cumsum(self.count[away])
        whole = int(np.searchsorted(until, number, side="right"))
        start = self.start.copy()
        start[away[:whole]] = self.home[away[:whole]]
        part = number - (int(until[whole - 1]) if whole else 0)
        back = replace(self, start=start)
        return back._split(int(away[whole]), part) if part and whole < away.size else back

    def _split(self, row: int, part: int) -> Records:
        """`part` keys of `row` become a record of their own, behind all others, at home."""
        count = np.append(self.count, part)
        count[row] -= part
        return replace(
            self,
            cost=np.append(self.cost, self.cost[row]),
            memory=np.append(self.memory, self.memory[row]),
            count=count,
            previous=np.append(self.previous, self.previous[row]),
            home=np.append(self.home, self.home[row]),
            start=np.append(self.start, self.home[row]),
            first=np.append(self.first, self.first[row] + count[row]),
        )

    def keys_of(self, moves: Numbers) -> tuple[Rows, WorkerIds]:
        """The keys that `moves` (record, worker, number) or moving back have touched."""
        moves = moves[np.argsort(moves[:, 0], kind="stable")]
        rows, numbers = moves[:, 0], moves[:, 2]
        used = np.zeros(self.count.size, dtype=np.int64)
        np.add.at(used, rows, numbers)
        within = np.cumsum(numbers) - numbers
        leads = np.searchsorted(rows, rows)
        begins = self.first[rows] + within - within[leads] if rows.size else rows
        rest = self.displaced
        rest = rest[self.count[rest] > used[rest]]
        left = self.count[rest] - used[rest]
        at = _ranges(
            np.concatenate([begins, self.first[rest] + used[rest]]), np.concatenate([numbers, left])
        )
        workers = np.concatenate(
            [np.repeat(moves[:, 1], numbers), np.repeat(self.start[rest].astype(np.int64), left)]
        )
        return self.members[at].astype(np.intp), workers.astype(np.int32)

    @property
    def displaced(self) -> Rows:
        """The records that were moved back: they start elsewhere than their keys did."""
        if self.start is self.assignment.start or not self.count.size:
            return np.empty(0, dtype=np.intp)
        # An emptied record may point behind the last member; it holds no key, so any will do.
        first = self.members[np.minimum(self.first, self.members.size - 1)]
        moved: Rows = np.flatnonzero(
            (self.start != self.assignment.start[first]) & (self.count > 0)
        )
        return moved


def _packed(code: NDArray[np.uint64], part: NDArray[np.integer], steps: int) -> NDArray[np.uint64]:
    """One number for the pair; codes are replaced by ranks where the pair would overflow."""
    if code.size and int(code.max()) >= 2**63 // max(steps, 1):
        code = np.unique(code, return_inverse=True)[1].astype(np.uint64)
    return code * np.uint64(steps) + part.astype(np.uint64)


def _ranges(begins: Numbers, lengths: Numbers) -> Numbers:
    """All of begin, begin + 1, … begin + length − 1, one range behind the other."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    return np.repeat(begins - (ends - lengths), lengths) + np.arange(total)
