"""Helpers to read rows: filter, group and summarise what the cells measured."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from unskew_lab.papers.plot import Line, Panel
from unskew_lab.papers.specification import Claim, Row, Value


def where(rows: Sequence[Row], /, **wanted: Value) -> list[Row]:
    """The rows with these values.

    >>> where([{"z": 1, "y": 2}, {"z": 2, "y": 3}], z=2)
    [{'z': 2, 'y': 3}]
    """
    return [row for row in rows if all(row.get(name) == value for name, value in wanted.items())]


def distinct(rows: Sequence[Row], column: str) -> list[Value]:
    """The different values of a column, in order of appearance."""
    return list(dict.fromkeys(row[column] for row in rows if column in row))


def by_stream(rows: Sequence[Row]) -> list[tuple[str, list[Row]]]:
    """The name and the rows of every stream, in order of appearance.

    >>> by_stream([{"stream": "WP", "z": 1}, {"stream": "TW", "z": 2}])
    [('WP', [{'stream': 'WP', 'z': 1}]), ('TW', [{'stream': 'TW', 'z': 2}])]
    """
    return [(str(name), where(rows, stream=name)) for name in distinct(rows, "stream")]


def each_stream(
    rows: Sequence[Row], claims_of: Callable[[str, list[Row]], Sequence[Claim]]
) -> list[Claim]:
    """The claims about every stream, each with the stream's name before it."""
    return [
        replace(claim, claim=f"{name}: {claim.claim}")
        for name, here in by_stream(rows)
        for claim in claims_of(name, here)
    ]


def numbers(rows: Sequence[Row], column: str) -> list[float]:
    """A column as numbers."""
    return [float(row[column]) for row in rows]


def the(rows: Sequence[Row], column: str, /, **wanted: Value) -> float:
    """The number in `column` of the only row with these values."""
    (row,) = where(rows, **wanted)
    return float(row[column])


def lines(
    rows: Sequence[Row], x: str, y: str, by: str = "scheme", points: bool = True
) -> list[Line]:
    """One line per value of the column `by`."""
    return [
        Line(str(name), numbers(part, x), numbers(part, y), points)
        for name in distinct(rows, by)
        if (part := where(rows, **{by: name}))
    ]


def panels_per_stream(
    rows: Sequence[Row],
    x: str,
    x_label: str,
    *y: tuple[str, str],
    log_x: bool = False,
    floor: float = 0.0,
) -> list[Panel]:
    """For each stream a panel per `y`, a column and its label, on a logarithmic scale."""
    return [
        Panel(name, x_label, label, lines(part, x, column), log_x, log_y=True, floor=floor)
        for name, part in by_stream(rows)
        for column, label in y
    ]


def near(ours: float, paper: float, factor: float = 1.25) -> bool:
    """Whether a measured number is within a factor of the paper's.

    >>> near(2.4, paper=2.0), near(3.0, paper=2.0)
    (True, False)
    """
    return paper / factor <= ours <= paper * factor


def rising(values: Sequence[float], slack: float = 0.0) -> bool:
    """Whether no value is more than `slack`, as a share, below the one before."""
    return all(later >= earlier * (1 - slack) for earlier, later in pairwise(values))


def tail(rows: Sequence[Row], column: str, share: float = 0.1) -> list[float]:
    """The last `share` of a timeline's column."""
    values = numbers(rows, column)
    return values[-max(1, round(share * len(values))) :]


def at_the_end(rows: Sequence[Row], column: str) -> float:
    """The median of a column over the last tenth of a timeline: one slot is noisy."""
    return float(np.median(tail(rows, column)))


def growing(rows: Sequence[Row], column: str) -> bool:
    """Whether the last tenth of a timeline is at least 1.5 times its middle.

    Values below a hundred rows, four seconds of a mean worker, are noise.
    """
    values = numbers(rows, column)
    middle = float(np.median(values[len(values) * 2 // 5 : len(values) * 3 // 5 + 1]))
    return at_the_end(rows, column) > 1.5 * max(middle, 100.0)


def spread_of(values: Sequence[float]) -> str:
    """The range of some numbers as text.

    >>> spread_of([0.5, 0.25])
    '0.25 … 0.5'
    """
    return f"{min(values):.3g} … {max(values):.3g}"
