"""Figures 5, 6 and 9: balance and memory over ε, over workers and over sources."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from unskew.partitioners import (
    BoundedRing,
    ConsistentGrouping,
    KeyGrouping,
    ShuffleGrouping,
)
from unskew_lab.papers.cells import Routed
from unskew_lab.papers.consistent_grouping.schemes import (
    ABOVE_MEAN,
    EPSILON,
    MEMORY,
    At,
    OnVirtualWorkers,
    listed,
    schemes,
)
from unskew_lab.papers.plot import Panel, Plot
from unskew_lab.papers.reading import (
    by_stream,
    lines,
    numbers,
    panels_per_stream,
    rising,
    the,
    where,
)
from unskew_lab.papers.specification import Claim, Figure, Row, Setting
from unskew_lab.papers.streams import named_reals, wikipedia


def _fig5_cells(setting: Setting) -> list[At]:
    cells = []
    for name, stream in (("WP-like", wikipedia(setting)), *named_reals(setting)):
        for epsilon in (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0):
            scheme = ConsistentGrouping(10, virtual=10, epsilon=epsilon)
            cells.append(At("epsilon", epsilon, Routed(name, stream, "CG", scheme)))
        for other, partitioner in (("KG", KeyGrouping(10)), ("SG", ShuffleGrouping(10))):
            cells.append(At("epsilon", 0.0, Routed(name, stream, other, partitioner)))
    return cells


def _fig5_claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for name, here in by_stream(rows):
        cg = where(here, scheme="CG")
        imbalances, memory = numbers(cg, "above_mean"), numbers(cg, "replicas")
        bounds = [the(here, "replicas", scheme=each) for each in ("KG", "SG")]
        between = bounds[0] <= memory[-1] and memory[0] <= bounds[1]
        trades = rising(imbalances, 0.25) and rising(memory[::-1], 0.02)
        claims.append(
            Claim(
                f"{name}: a lower ε gives less imbalance and more memory, between SG and KG",
                "yes",
                f"ε 0.001 → 3: imbalance {imbalances[0]:.2g} → {imbalances[-1]:.2g}, replicas "
                f"{memory[0]:,.0f} → {memory[-1]:,.0f}; SG {bounds[1]:,.0f}, KG {bounds[0]:,.0f}",
                trades and between,
            )
        )
    return claims


def _fig5_plot(rows: Sequence[Row]) -> Plot:
    panels = []
    for name, here in by_stream(rows):
        epsilons = sorted({float(row["epsilon"]) for row in where(here, scheme="CG")})
        flat: list[Row] = [
            {**row, "epsilon": epsilon}
            for row in here
            for epsilon in ([float(row["epsilon"])] if row["scheme"] == "CG" else epsilons)
        ]
        for column, label in (("above_mean", ABOVE_MEAN), ("memory", MEMORY)):
            panels.append(
                Panel(name, "ε", label, lines(flat, "epsilon", column), True, True, floor=1e-4)
            )
    return Plot("Consistent Grouping, Fig 5: ε trades memory for balance", panels, columns=2)


FIG5 = Figure(
    "5",
    "Imbalance and memory over ε",
    _fig5_cells,
    _fig5_claims,
    _fig5_plot,
    choices="The WP data set is not public: a Zipf stream with its p₁ = 9.32 % stands in for it.",
)


def _fig6_cells(setting: Setting) -> list[Routed]:
    streams = (("WP-like", wikipedia(setting)), *named_reals(setting))
    return [
        Routed(name, stream, scheme, partitioner)
        for name, stream in streams
        for workers in (5, 10, 50, 100)
        for scheme, partitioner in {
            **schemes(workers),
            "CH": OnVirtualWorkers(BoundedRing(10 * workers, EPSILON), workers),
            "CG": ConsistentGrouping(workers, virtual=10, epsilon=EPSILON),
        }.items()
        if scheme != "PoRC"
    ]


def _fig6_claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for name, here in by_stream(rows):
        pkg = numbers(where(here, scheme="PKG"), "above_mean")
        kg = numbers(where(here, scheme="KG"), "above_mean")
        bounded = max(numbers(where(here, scheme="CG"), "above_mean"))
        used = {
            s: numbers(where(here, scheme=s), "replicas") for s in ("KG", "PKG", "CG", "CH", "SG")
        }
        ordered = [rising([used[s][i] for s in used], slack=0.02) for i in range(len(pkg))]
        claims += [
            Claim(
                f"{name}: KG worst; PKG level at 5 and 10 workers and not beyond; CG bounded",
                "yes",
                f"5/10/50/100 workers: KG {listed(kg)}; PKG {listed(pkg)}; CG ≤ {bounded:.2g}",
                all(a >= b for a, b in zip(kg, pkg, strict=True))
                and max(pkg[:2]) < 0.05 < pkg[-1]
                and bounded < 0.05,
                _hot(here),
            ),
            Claim(
                f"{name}: memory KG < PKG < CG < CH < SG",
                "at 5, 10, 50 and 100 workers",
                f"at {sum(ordered)} of {len(ordered)}; at 100: "
                + ", ".join(f"{s} {used[s][-1]:,.0f}" for s in used),
                all(ordered),
                "" if all(ordered) else _who_is_cheaper(used),
            ),
        ]
    return claims


def _hot(rows: Sequence[Row]) -> str:
    """The share of the hottest key, computed from PKG's imbalance at 100 workers."""
    top = 2 * (the(rows, "imbalance", scheme="PKG", workers=100) + 0.01)
    return f"PKG's two workers of the hottest key carry about {top:.1%} of this stream at 100"


def _who_is_cheaper(used: dict[str, list[float]]) -> str:
    pairs = [
        f"{less} above {more}"
        for less, more in pairwise(used)
        if any(a > 1.02 * b for a, b in zip(used[less], used[more], strict=True))
    ]
    return f"{', '.join(pairs)}: with few workers a key that overflows meets all of them soon"


def _over_workers(rows: Sequence[Row], title: str) -> Plot:
    y = (("above_mean", ABOVE_MEAN), ("memory", MEMORY))
    panels = panels_per_stream(rows, "workers", "workers", *y, log_x=True, floor=1e-6)
    return Plot(f"Consistent Grouping, {title}", panels, columns=2)


FIG6 = Figure(
    "6",
    "Schemes on equal workers",
    _fig6_cells,
    _fig6_claims,
    lambda rows: _over_workers(rows, "Fig 6: homogeneous workers"),
    choices="CH and CG have 10 virtual workers per worker, ε = 0.01, and no signals.",
)


def _fig9_cells(setting: Setting) -> list[Routed]:
    streams = (("WP-like", wikipedia(setting)), *named_reals(setting))
    return [
        Routed(name, stream, f"{sources} sources", ConsistentGrouping(workers), sources)
        for name, stream in streams
        for workers in (5, 10, 50, 100)
        for sources in (1, 10, 50, 100)
    ]


def _fig9_claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for name, here in by_stream(rows):
        memory, level = [], []
        for n in (5, 10, 50, 100):
            part = where(here, workers=n)
            used = numbers(part, "replicas")
            memory.append(max(used) / min(used))
            level.append(max(numbers(part, "above_mean")))
        claims.append(
            Claim(
                f"{name}: imbalance and memory nearly the same with 1, 10, 50 and 100 sources",
                "same on a log scale",
                f"memory within {max(memory):.2f} ×; imbalance ≤ {max(level):.2g}",
                max(memory) < 3 and max(level) < 0.1,
                "" if max(memory) < 3 and max(level) < 0.1 else _few_rows(here),
            )
        )
    return claims


def _few_rows(rows: Sequence[Row]) -> str:
    messages = numbers(rows, "messages")[0]
    return (
        f"a source has only {messages / 100:,.0f} rows for 1,000 virtual workers here, so its "
        "capacity of (1+ε) times the mean, in whole rows, is loose or tight by a row each"
    )


FIG9 = Figure(
    "9",
    "CG with 1 to 100 sources",
    _fig9_cells,
    _fig9_claims,
    lambda rows: _over_workers(rows, "Fig 9: CG with many sources"),
)

FIGURES = (FIG5, FIG6, FIG9)
