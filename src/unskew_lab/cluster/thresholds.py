"""What is read from measured batches: ratios to key grouping, beside what balance predicts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unskew_lab.papers.plot import Line, Panel, Plot
from unskew_lab.papers.reading import lines, numbers, where
from unskew_lab.papers.specification import Row

NOISE = 0.97
"""A ratio above this counts as equal: runs differ by a few per cent."""

REPEATS = 3
"""How often a figure is measured, each time with another stream and other hashes of the keys."""


def measured(rows: Sequence[Row]) -> list[Row]:
    """The batches after the time of grace."""
    return [row for row in rows if not row.get("grace")]


def throughput(rows: Sequence[Row]) -> float:
    """Rows a second."""
    return sum(numbers(rows, "rows")) / sum(numbers(rows, "seconds"))


def latency(rows: Sequence[Row]) -> float:
    """The mean seconds from the begin of a row's batch until the row is done."""
    return float(np.average(numbers(rows, "latency"), weights=numbers(rows, "rows")))


def mean(rows: Sequence[Row], column: str) -> float:
    """The mean of a column over the batches."""
    return float(np.mean(numbers(rows, column)))


def of(rows: Sequence[Row], scheme: str) -> list[Row]:
    """The batches of a scheme that count."""
    return measured(where(rows, scheme=scheme))


def gain(rows: Sequence[Row], scheme: str, over: str = "KG") -> float:
    """Throughput as a multiple of another scheme's."""
    return throughput(of(rows, scheme)) / throughput(of(rows, over))


def predicted(rows: Sequence[Row], scheme: str, over: str = "KG") -> float:
    """The same as balance alone has it."""
    return mean(of(rows, scheme), "predicted") / mean(of(rows, over), "predicted")


def predicted_latency(rows: Sequence[Row], scheme: str, over: str) -> float:
    """How many times as long a row waits as under another scheme, as balance alone has it."""
    part, other = of(rows, scheme), of(rows, over)
    return mean(part, "predicted_latency") / mean(other, "predicted_latency")


def beside(rows: Sequence[Row], schemes: Sequence[str], over: str = "KG") -> str:
    """Measured gains with predicted ones, as text."""
    return ", ".join(
        f"{scheme} {times(gain(rows, scheme, over))} (balance alone "
        f"{times(predicted(rows, scheme, over))})"
        for scheme in schemes
    )


def waits(rows: Sequence[Row], schemes: Sequence[str]) -> str:
    """Measured latencies with predicted ones, as text."""
    return ", ".join(
        f"{scheme} {latency(of(rows, scheme)):.2f} s (balance alone "
        f"{mean(of(rows, scheme), 'predicted_latency'):.2f} s)"
        for scheme in schemes
    )


def ended(rows: Sequence[Row], schemes: Sequence[str]) -> str:
    """The latency of results, which are out when their batch has ended, as text."""
    waits = ", ".join(f"{scheme} {mean(of(rows, scheme), 'seconds'):.2f} s" for scheme in schemes)
    return f"until the batch has ended, when its results are out, {waits}"


def times(ratio: float) -> str:
    """A ratio as text.

    >>> times(2.754)
    '2.75 ×'
    """
    return f"{ratio:.2f} ×"


def more(ratio: float) -> str:
    """How far a ratio is from one, as text.

    >>> more(1.29), more(0.5)
    ('+29 %', '−50 %')
    """
    return f"{100 * (ratio - 1):+.0f} %".replace("-", "−")


def by_batch(title: str, rows: Sequence[Row]) -> Plot:
    """Throughput and latency of every batch, a line for each scheme."""
    schemes = list(dict.fromkeys(str(row["scheme"]) for row in rows))
    panels = []
    for column, label in (("throughput", "rows a second"), ("latency", "seconds")):
        found = []
        for scheme in schemes:
            here = where(rows, scheme=scheme)
            done = (
                [float(row["rows"]) / float(row["seconds"]) for row in here]
                if column == "throughput"
                else numbers(here, column)
            )
            found.append(Line(scheme, numbers(here, "batch"), done))
        panels.append(Panel(column, "batch", label, found, from_zero=True))
    return Plot(title, panels, columns=2)


def later(rows: Sequence[Row]) -> list[Row]:
    """Without the first two batches: a plan made from the first is in force in the third."""
    return [row for row in rows if int(row["batch"]) > 1]


def speed_of(rows: Sequence[Row]) -> float:
    """Rows a second from the third batch on."""
    return throughput(later(rows))


def wait_of(rows: Sequence[Row]) -> float:
    """The mean seconds of a batch, from the second on."""
    return mean(later(rows), "seconds")


def balance_by_batch(title: str, rows: Sequence[Row]) -> Plot:
    """Throughput and balance over the batches."""
    loaded = [row for row in rows if "max_over_mean" in row]
    speeds: list[Row] = [
        {**row, "throughput": float(row["rows"]) / float(row["seconds"])} for row in rows
    ]
    done = lines(speeds, "batch", "throughput")
    panels = [
        Panel("throughput", "batch", "rows a second", done, from_zero=True),
        Panel("balance", "batch", "max over mean", lines(loaded, "batch", "max_over_mean")),
    ]
    return Plot(title, panels, columns=2)
