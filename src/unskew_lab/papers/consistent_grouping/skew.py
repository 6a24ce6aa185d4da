"""Figure 4 and the bounds of section V: balance and memory over skew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from unskew.partitioners import RandomChoices
from unskew.sketches.key_counts import KeyCounts
from unskew.workloads import Stream, ZipfStream
from unskew_lab.papers.cells import Routed
from unskew_lab.papers.consistent_grouping.schemes import (
    ABOVE_MEAN,
    EPSILON,
    MEMORY,
    At,
    listed,
    schemes,
)
from unskew_lab.papers.plot import Panel, Plot
from unskew_lab.papers.reading import distinct, lines, numbers, rising, spread_of, the, where
from unskew_lab.papers.specification import Claim, Figure, Row, Setting
from unskew_lab.papers.streams import named_reals, size

KEYS = 100_000


def _skews(setting: Setting) -> list[float]:
    step = 4 if setting.quick else 1
    return [round(0.1 * tenth, 1) for tenth in range(step, 21, step)]


def _zipf(setting: Setting, exponent: float) -> ZipfStream:
    return ZipfStream(exponent, KEYS, size(setting, quick=500_000), setting.seed)


@dataclass(frozen=True, slots=True)
class Bounded:
    """PoRC beside its bounds: the load at every checkpoint, and the fewest replicas possible."""

    name: str
    stream: Stream
    workers: int

    def measure(self) -> Sequence[Row]:
        """The largest excess over ε·m/n in rows, and replicas beside Σ⌈pᵢn/(1+ε)⌉."""
        routed = Routed(self.name, self.stream, "PoRC", RandomChoices(self.workers, EPSILON))
        result = routed.run()
        counts = KeyCounts.of(self.stream.chunks()).counts
        share = counts / counts.sum()
        excess = result.imbalances - EPSILON * result.checkpoints / self.workers
        return [
            {
                **routed.row(result),
                "worst_excess": float(excess.max()),
                "fewest": int(np.ceil(share * self.workers / (1 + EPSILON)).sum()),
            }
        ]


def _bounds_cells(setting: Setting) -> list[Bounded]:
    skewed = [(f"z={z}", _zipf(setting, z)) for z in (0.4, 1.2, 2.0)]
    streams = [*skewed, *named_reals(setting)]
    return [Bounded(name, stream, n) for name, stream in streams for n in (10, 100)]


def _bounds_claims(rows: Sequence[Row]) -> list[Claim]:
    excess = max(numbers(rows, "worst_excess"))
    beside = [float(row["replicas"]) / float(row["fewest"]) for row in rows]
    return [
        Claim(
            "PoRC keeps the imbalance within ε·m/n at all times",
            "I(m) ≤ ε·m/n",
            f"at most {excess:.2f} rows above it, at 1,000 checkpoints of {len(rows)} runs",
            excess <= 1,
            "a load is a whole number: the limit is rounded up to the next row",
        ),
        Claim(
            "PoRC needs at least Σ⌈pᵢn/(1+ε)⌉ replicas",
            "≥ 1.0 ×",
            f"{spread_of(beside)} × that",
            min(beside) >= 1,
        ),
    ]


BOUNDS = Figure("bounds", "Section V: PoRC beside its bounds", _bounds_cells, _bounds_claims)


def _fig4_cells(setting: Setting) -> list[At]:
    return [
        At("z", z, Routed(f"z={z}", _zipf(setting, z), name, scheme))
        for workers in (10, 100, 1000)
        for z in _skews(setting)
        for name, scheme in schemes(workers).items()
    ]


def _fig4_claims(rows: Sequence[Row]) -> list[Claim]:
    skewed = [row for row in rows if float(row["z"]) >= 1]
    grows = [
        rising(numbers(where(skewed, scheme=scheme, workers=n), "above_mean"), slack=0.05)
        for scheme in ("KG", "PKG")
        for n in (10, 100, 1000)
    ]
    hottest = max(numbers(rows, "z"))
    with_n = [
        numbers(where(rows, scheme=scheme, z=hottest), "above_mean") for scheme in ("KG", "PKG")
    ]
    low = [row for row in rows if row["scheme"] in ("PoTC", "PoRC", "CH", "SG")]
    worst = max(numbers(low, "above_mean"))
    return [
        Claim(
            "imbalance of KG and PKG grows with the skew (z ≥ 1) and with the workers",
            "up to 10¹, 10², 10³ for 10, 100, 1000 workers",
            f"at z={hottest:g}: KG {listed(with_n[0])}, PKG {listed(with_n[1])}",
            all(grows) and all(rising(values) for values in with_n),
        ),
        Claim(
            "PoTC, PoRC, CH and SG stay low at every skew",
            "flat, about ε = 0.01",
            f"max/mean − 1 ≤ {worst:.3g}",
            worst <= 2 * EPSILON,
        ),
        *_memory_claims(rows),
    ]


def _memory_claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    order = ("KG", "PKG", "PoRC", "CH", "SG")
    for n in (10, 100, 1000):
        held, cases = [], distinct(where(rows, workers=n), "z")
        for z in cases:
            used = [the(rows, "replicas", z=z, workers=n, scheme=each) for each in order]
            held.append(rising(used))
        broken = [f"{z}" for z, ok in zip(cases, held, strict=True) if not ok]
        claims.append(
            Claim(
                f"memory KG < PKG < PoRC < CH < SG ≈ PoTC with {n} virtual workers",
                "at every skew",
                f"at {sum(held)} of {len(held)} skews"
                + (f", not at z = {', '.join(broken)}" if broken else ""),
                all(held),
                "" if all(held) else _why_not(rows, n, broken),
            )
        )
    return claims


def _why_not(rows: Sequence[Row], workers: int, broken: Sequence[str]) -> str:
    """Which neighbours are in the wrong order, at the first skew where any are."""
    z = float(broken[0])
    order = ("KG", "PKG", "PoRC", "CH", "SG")
    used = {s: the(rows, "replicas", z=z, workers=workers, scheme=s) for s in order}
    swapped = [
        f"{less} {used[less]:,.0f} > {more} {used[more]:,.0f}"
        for less, more in pairwise(order)
        if used[less] > used[more]
    ]
    return (
        f"at z = {z:g}: {'; '.join(swapped)}. Where skew is low few keys overflow their first "
        "choice, so PoRC splits fewer keys than PKG, which splits every key seen twice; and "
        "with few rows per key and worker the schemes meet"
    )


def _fig4_plot(rows: Sequence[Row]) -> Plot:
    panels = [
        Panel(
            f"{n} virtual workers",
            "skew z",
            label,
            lines(where(rows, workers=n), "z", column),
            log_y=True,
            floor=1e-4,
        )
        for column, label in (("above_mean", ABOVE_MEAN), ("memory", MEMORY))
        for n in (10, 100, 1000)
    ]
    return Plot(
        "Consistent Grouping, Fig 4: imbalance and memory over skew",
        panels,
        note="values below 10⁻⁴ are drawn there",
    )


FIG4 = Figure(
    "4",
    "Imbalance and memory of the schemes over skew",
    _fig4_cells,
    _fig4_claims,
    _fig4_plot,
    choices="Imbalance is normalised by the mean load and memory by the messages, which is what "
    "the axes of the paper's figure fit; ε = 0.01; one point per worker on CH's ring.",
)


FIGURES = (BOUNDS, FIG4)
