"""Figure 4 and the bounds of section V: balance and memory over skew."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unskew.partitioners import RandomChoices
from unskew.sketches.key_counts import KeyCounts
from unskew.workloads import Stream
from unskew_lab.papers.cells import Routed
from unskew_lab.papers.consistent_grouping.schemes import (
    ABOVE_MEAN,
    EPSILON,
    MEMORY,
    At,
    listed,
    schemes,
)
from unskew_lab.papers.judging import DRAWS
from unskew_lab.papers.plot import Panel, Plot
from unskew_lab.papers.reading import lines, numbers, rising, spread_of, where
from unskew_lab.papers.specification import Claim, Figure, Row, Setting
from unskew_lab.papers.streams import Rehashed, on_reals, size, zipf

KEYS = 100_000


def _skews(setting: Setting) -> list[float]:
    step = 4 if setting.quick else 1
    return [round(0.1 * tenth, 1) for tenth in range(step, 21, step)]


def _stream(setting: Setting, exponent: float) -> Rehashed:
    return zipf(setting, exponent, KEYS, size(setting, quick=500_000))


@dataclass(frozen=True, slots=True)
class Bounded:
    """PoRC beside its bounds: the load at every checkpoint, and the fewest replicas possible."""

    name: str
    stream: Stream
    workers: int

    def measure(self) -> Sequence[Row]:
        """The largest excess over ε·m/n in rows, and replicas beside Σ⌈pᵢn/(1+ε)⌉."""
        scheme = RandomChoices(self.workers, EPSILON, distinct=False)
        routed = Routed(self.name, self.stream, "PoRC", scheme)
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


@dataclass(frozen=True, slots=True)
class Hottest:
    """On how many workers the hottest key is, with ε just above 1/(n − 1)."""

    stream: Stream
    workers: int

    def measure(self) -> Sequence[Row]:
        """One row."""
        epsilon = 1.01 / (self.workers - 1)
        router = RandomChoices(self.workers, epsilon, distinct=False).router()
        hottest = KeyCounts.of(self.stream.chunks()).keys[0]
        found: set[int] = set()
        for chunk in self.stream.chunks():
            found.update(router.route(chunk)[chunk == hottest].tolist())
        return [{"n": self.workers, "hottest_on": len(found)}]


def _bounds_cells(setting: Setting) -> list[Bounded | Hottest]:
    streams = [(f"z={z}", _stream(setting, z)) for z in (0.4, 1.2, 2.0)]
    return [
        *(cell for name, stream in streams for cell in _bounded(setting, name, stream)),
        *(Hottest(_stream(setting, z), n) for z in (2.0, 8.0) for n in (5, 10, 50)),
    ]


def _bounded(setting: Setting, name: str, stream: Stream) -> list[Bounded]:
    return [Bounded(name, stream, n) for n in (10, 100)]


def _bounds_claims(rows: Sequence[Row]) -> list[Claim]:
    bounded = [row for row in rows if "worst_excess" in row]
    excess = max(numbers(bounded, "worst_excess"))
    beside = [float(row["replicas"]) / float(row["fewest"]) for row in bounded]
    claims = [
        Claim(
            "PoRC keeps the imbalance within ε·m/n at all times",
            "I(m) ≤ ε·m/n",
            f"at most {excess:.2f} rows above it, at 1,000 checkpoints of {len(bounded)} runs",
            excess <= 1,
            "a load is a whole number: the limit is rounded up to the next row",
            value=excess,
            always=True,
        ),
        Claim(
            "PoRC needs at least Σ⌈pᵢn/(1+ε)⌉ replicas",
            "≥ 1.0 ×",
            f"{spread_of(beside)} × that",
            min(beside) >= 1,
            value=min(beside),
            always=True,
        ),
    ]
    if hottest := [row for row in rows if "hottest_on" in row]:
        shares = [float(row["hottest_on"]) / float(row["n"]) for row in hottest]
        claims.append(
            Claim(
                "with ε > 1/(n − 1) no key is on all workers",
                "fewer than n",
                "; ".join(f"{row['hottest_on']:.0f} of {row['n']}" for row in hottest),
                max(shares) < 1,
                value=max(shares),
                always=True,
            )
        )
    return claims


BOUNDS = Figure(
    "bounds",
    "Section V: PoRC beside its bounds",
    _bounds_cells,
    _bounds_claims,
    draws=DRAWS,
    real=on_reals(_bounded),
)


def _fig4_cells(setting: Setting) -> list[At]:
    return [
        At("z", z, Routed(f"z={z}", _stream(setting, z), name, scheme))
        for workers in (10, 100, 1000)
        for z in _skews(setting)
        for name, scheme in schemes(workers, setting.draw).items()
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
            all(grows) and all(rising([2 * v[0], v[1], v[2]]) for v in with_n),
            value=with_n[1][-1],
        ),
        Claim(
            "PoTC, PoRC, CH and SG stay low at every skew",
            "flat, about ε = 0.01",
            f"max/mean − 1 ≤ {worst:.3g}",
            worst <= 2 * EPSILON,
            value=worst,
        ),
        *_memory_claims(rows),
    ]


def _memory_claims(rows: Sequence[Row]) -> list[Claim]:
    """Over all skews and numbers of workers, each scheme's memory beside another's."""

    def beside(more: str, less: str) -> list[float]:
        above, below = (numbers(where(rows, scheme=s), "replicas") for s in (more, less))
        return [a / b for a, b in zip(above, below, strict=True)]

    cost = [ratio for scheme in ("PKG", "PoRC", "CH", "SG") for ratio in beside(scheme, "KG")]
    saved, ring, same = beside("SG", "PoRC"), beside("CH", "PoRC"), beside("PoTC", "SG")
    return [
        Claim(
            "balance costs memory: KG needs the least, at every skew",
            "least",
            f"the others need {spread_of(cost)} times as much",
            min(cost) >= 1,
            value=min(cost),
        ),
        Claim(
            "PoRC needs less memory than SG, at every skew",
            "lower",
            f"SG needs {spread_of(saved)} times as much, CH {spread_of(ring)} times",
            min(saved) >= 1 and float(np.median(saved)) > 1.1,
            value=min(saved),
        ),
        Claim(
            "PoTC needs as much memory as SG",
            "very similar",
            f"{spread_of(same)} times as much",
            max(abs(ratio - 1) for ratio in same) <= 0.05,
            value=max(same, key=lambda ratio: abs(ratio - 1)),
        ),
    ]


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
    draws=DRAWS,
)


FIGURES = (BOUNDS, FIG4)
