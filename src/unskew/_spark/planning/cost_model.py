"""What a job takes: stages, tasks, rows, and the calls of a user's function.

A forecast ranks ways to run one job; it need not be right to the second. The figures of Spark's own
work were measured on PySpark 4.3 with narrow rows, in seconds of one core of one machine; others
take `Machine.pace` times as long. What decides most jobs, the user's function, is timed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unskew._spark.planning.machine import MORE, Machine, Seconds
from unskew._spark.planning.statistics import FEW
from unskew.checking import check_number
from unskew.errors import ParameterError, ParameterTypeError

STAGE = 0.1
"""From one stage to the next: planning, scheduling, the way of the results."""
TASK = 0.01
"""A task without Python."""
PYTHON_TASK = 0.02
"""A task with a Python worker that is prompt: it reads the function, and asks for its rows."""
SHUFFLE = 0.4e-6
"""A row through a shuffle."""
SORT = 0.3e-6
"""A row through a sort."""
HAND_OVER = 0.6e-6
"""A row to Python, in Arrow batches."""
BYTE = 3e-9
"""Each byte of a row, in every one of these steps."""
PAIR = 0.1e-6
"""A row of the result of a join."""
ROUTE = 0.1e-6
"""A row of a join that is given a worker, and carries it through shuffle and sort."""
PASS = 0.25e-6
"""A row through the pass for key statistics."""
FIRST_PASS = 1.0
"""How much longer the first of a session takes: Spark compiles it."""
_USUAL = 300e-6  # Of a call, in pandas.
FEWEST = 1e-3
"""The smallest share of the rows that it counts."""
SMALLEST, LARGEST = 2.4e6, 150e6
"""Of how many bytes Spark makes a task behind a shuffle: so many tasks as there are slots, unless
they would be smaller than 1 MB or larger than 64 MB, which it counts compressed."""
TRIP = {"arrow": 120e-6, "pandas": 1.4e-3}
"""A group by Spark's own call: it has a stream to Python of its own."""
FLAT = {"arrow": 0.0, "pandas": 0.4e-6}
"""What a row saves there: pandas gets flat columns, where all rows together come as a struct."""


@dataclass(frozen=True, slots=True)
class FunctionCost:
    """The seconds of a call: some for the call itself, some for each of its rows.

    >>> FunctionCost(per_call=1e-3, per_row=1e-4).of(np.array([10.0])).tolist()
    [0.002]
    """

    per_call: float
    per_row: float
    power: float = 1.0
    """2 where each row of a group is compared with each other."""
    source: str = "no measurement"
    """Where it is from: a pilot, a hint, an earlier run."""
    busy: float = 1.0
    """The share of its time that a core works on it; the rest it waits for something else."""
    certain: bool = True
    """Whether somebody told or measured it; else it may well take far longer."""

    def of(self, rows: Seconds) -> Seconds:
        """The seconds of a call with each of these numbers of rows."""
        seconds: Seconds = self.per_call + self.per_row * np.power(rows, self.power)
        return seconds

    def __str__(self) -> str:
        by = "row" if self.power == 1 else f"row^{self.power:g}"
        return f"{_short(self.per_call)} a call, {_short(self.per_row)} a {by} ({self.source})"


ASSUMED = FunctionCost(1e-3, 20e-6, source="no measurement: assumed", certain=False)
"""A call of which nothing is known: balance may pay, so that it is not taken for free."""


@dataclass(frozen=True, slots=True)
class CostHints:
    """What a user says about the cost of a function."""

    seconds_per_row: float | None = None
    pilot: bool = True
    """Whether the function may be called for a few rows before the job."""
    name: str | None = None
    """Under which the job is remembered."""

    @classmethod
    def of(
        cls, seconds_per_row: float | None = None, pilot: bool = True, name: str | None = None
    ) -> CostHints:
        """Check the hints."""
        if seconds_per_row is not None:
            check_number("seconds_per_row", seconds_per_row)
            if not 0 <= seconds_per_row < float("inf"):
                raise ParameterError(
                    f"seconds_per_row={seconds_per_row} is not a time; give seconds, 0 or more"
                )
        if not isinstance(pilot, bool):
            raise ParameterTypeError("pilot", pilot, "True or False")
        if name is not None and not (isinstance(name, str) and name):
            raise ParameterTypeError("name", name, "a name")
        return cls(seconds_per_row, pilot, name)


@dataclass(frozen=True, slots=True)
class StageCost:
    """The seconds of Spark's own work on rows of some width."""

    machine: Machine
    row_bytes: float

    def shuffle(self, rows: float, tasks: int) -> float:
        """Rows are written to a shuffle by this many tasks."""
        return self._stage(tasks * TASK + self._moved(rows, SHUFFLE))

    def python(self, rows: float, tasks: int) -> float:
        """Rows are sorted and handed to this many Python tasks; without what is done there."""
        own = tasks * PYTHON_TASK + self._moved(rows, SORT) + self._moved(rows, HAND_OVER)
        # One task has one core, however many there are.
        return self._stage(own, tasks)

    def handed_over(self, rows: float) -> float:
        """Rows are handed to Python as they are."""
        return self._stage(self._moved(rows, HAND_OVER))

    def packed(self, rows: float, most: int) -> int:
        """How many tasks Spark makes of these rows behind a shuffle of `most` partitions."""
        size = rows * self.row_bytes
        each = np.clip(size / self.machine.slots, SMALLEST, LARGEST)
        return int(np.clip(round(size / each), 1, most))

    def level_tasks(self, rows: float, most: int) -> int:
        """One task for each slot, or several where there are more bytes than these can take.

        At most `most`, or a few for each slot: sizes that Spark guesses may be far too large.
        """
        slots = self.machine.slots
        rounds = math.ceil(rows * self.row_bytes / (slots * LARGEST))
        return min(max(rounds, 1) * slots, max(MORE * slots, most))

    def trips(self, kind: str, rows: float, groups: float, tasks: int) -> float:
        """How much longer Spark's own call takes for these groups than all of a task's at once."""
        own = groups * TRIP[kind] - rows * FLAT[kind]
        return self.machine.pace * own / min(tasks, self.machine.cores)

    def statistics(self, rows: float, tasks: int) -> float:
        """The pass for key statistics."""
        stages = 1 if rows <= FEW else 3
        return self._stage(tasks * TASK + rows * PASS, stages=stages)

    def countable(self, rows: float, tasks: int, seconds: float) -> float | None:
        """Which share of the rows that pass can count in so many seconds; None if all of them.

        >>> stage = StageCost(Machine(slots=2, cores=2), row_bytes=8)
        >>> stage.countable(1e6, 2, 1.0), stage.countable(1e9, 2, 1.0)
        (None, 0.00552)
        """
        counting = self.machine.pace * rows * PASS / self.machine.cores
        start = self.statistics(rows, tasks) - counting
        share = (seconds - start) / max(counting, 1e-9)
        return None if share >= 1 else float(f"{max(share, FEWEST):.3g}")

    def _stage(self, work: float, tasks: int | None = None, stages: int = 1) -> float:
        """Stages whose tasks have so much work together."""
        cores = self.machine.cores if tasks is None else min(tasks, self.machine.cores)
        return self.machine.pace * (stages * STAGE + work / cores)

    def _moved(self, rows: float, step: float) -> float:
        return rows * (step + self.row_bytes * BYTE)


def fitted(points: Sequence[tuple[float, float]]) -> FunctionCost:
    """The cost that fits the rows and seconds of calls best, errors taken relative.

    >>> print(fitted([(10, 0.0110), (100, 0.1010), (50, 0.0510)]))
    1 ms a call, 1 ms a row (a pilot)
    """
    rows, seconds = (np.array(each, dtype=np.float64) for each in zip(*points, strict=True))
    if rows.min() == rows.max():
        return _of_one_size(float(rows[0]), float(seconds.mean()))
    fits = [_fit(rows, seconds, power) for power in (1.0, 1.5, 2.0)]
    best = fits[0]
    if rows.max() >= 8 * rows.min():
        for other in fits[1:]:
            # More rows take more than in proportion only if that explains the times far better.
            if other[0] < 0.5 * best[0]:
                best = other
    return best[1]


def _of_one_size(rows: float, seconds: float) -> FunctionCost:
    """What groups of one size tell: beyond the usual cost of a call, it is taken to be the rows'.

    >>> print(_of_one_size(500, 0.1003))
    300 µs a call, 200 µs a row (a pilot)
    """
    call = min(seconds, _USUAL)
    return FunctionCost(call, float(f"{(seconds - call) / max(rows, 1):.3g}"), source="a pilot")


def _fit(rows: Seconds, seconds: Seconds, power: float) -> tuple[float, FunctionCost]:
    weights = 1.0 / np.maximum(seconds, 1e-7)
    terms = np.stack([np.ones(rows.size), rows**power], axis=1) * weights[:, None]
    from_both = np.linalg.lstsq(terms, seconds * weights, rcond=None)[0]
    if (from_both < 0).any():
        alone = 0 if from_both[1] < 0 else 1  # One of the two, by the call or by the row.
        one = float(terms[:, alone] @ (seconds * weights) / (terms[:, alone] @ terms[:, alone]))
        from_both = np.array([one, 0.0] if alone == 0 else [0.0, one])
    error = float(np.square(terms @ from_both - seconds * weights).sum())
    call, row = (float(f"{each:.3g}") for each in from_both)
    return error, FunctionCost(call, row, power, "a pilot")


def _short(seconds: float) -> str:
    """A number of seconds in few characters.

    >>> _short(0.0002), _short(1.5), _short(3e-7)
    ('200 µs', '1.5 s', '0.3 µs')
    """
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.1g} µs"
