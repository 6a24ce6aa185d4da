"""When claims hold on the cluster: ratios to key grouping and to Spark's own best."""

from __future__ import annotations

from collections.abc import Sequence

from unskew_lab.cluster.placements import OURS, SPARKS
from unskew_lab.papers.plot import Line, Panel, Plot
from unskew_lab.papers.reading import the
from unskew_lab.papers.specification import Claim, Row

NOISE = 0.97
"""A ratio above this counts as equal: runs differ by a few per cent."""


def gain(rows: Sequence[Row], scheme: str) -> float:
    """Throughput as a multiple of key grouping's."""
    return the(rows, "throughput", scheme=scheme) / the(rows, "throughput", scheme="KG")


def at_work(rows: Sequence[Row], scheme: str) -> str:
    """The gain as text, with and without the time before the first row."""
    alone = the(rows, "worked", scheme=scheme) / the(rows, "worked", scheme="KG")
    return f"{scheme} {times(gain(rows, scheme))} ({times(alone)} without planning and routing)"


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


def against_spark(rows: Sequence[Row], prefix: str, schemes: Sequence[str]) -> Claim:
    """Ours against the best that plain Spark can do for work that merges."""
    ours = max(
        (scheme for scheme in schemes if scheme in OURS), key=lambda scheme: gain(rows, scheme)
    )
    spark = max(
        (scheme for scheme in schemes if scheme in SPARKS), key=lambda scheme: gain(rows, scheme)
    )
    ratio = gain(rows, ours) / gain(rows, spark)
    counters = {scheme: the(rows, "replicas", scheme=scheme) for scheme in (ours, spark)}
    return Claim(
        f"{prefix}our best is at least as fast as Spark's own best alternative",
        "(not in the paper)",
        f"{ours} {times(ratio)} of {spark}; counters {counters[ours]:,.0f} and "
        f"{counters[spark]:,.0f}",
        ratio >= NOISE,
        f"where partial results merge, {spark.removeprefix('Spark: ')} is as level; what it costs "
        "is memory and merging",
        added=True,
    )


def bars(title: str, rows: Sequence[Row]) -> Plot:
    """One point per scheme: throughput, latency and memory."""
    panels = [
        Panel(label, "scheme", unit, [
            Line(str(row["scheme"]), [number], [float(row[column])])
            for number, row in enumerate(rows)
        ])
        for column, label, unit in (
            ("throughput", "throughput", "rows a second"),
            ("latency_mean", "latency", "seconds"),
            ("replicas", "memory", "counters"),
        )
    ]  # fmt: skip
    return Plot(title, panels)
