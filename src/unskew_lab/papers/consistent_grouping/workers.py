"""Figures 5, 6 and 9: balance and memory over ε, over workers and over sources."""

from __future__ import annotations

from collections.abc import Sequence

from unskew.partitioners import (
    BoundedRing,
    ConsistentGrouping,
    KeyGrouping,
    ShuffleGrouping,
)
from unskew.workloads import Stream
from unskew_lab.papers.cells import Routed
from unskew_lab.papers.consistent_grouping.schemes import (
    ABOVE_MEAN,
    EPSILON,
    MEMORY,
    WP,
    At,
    OnVirtualWorkers,
    cg,
    listed,
    schemes,
)
from unskew_lab.papers.judging import DRAWS
from unskew_lab.papers.plot import Panel, Plot
from unskew_lab.papers.reading import (
    by_stream,
    each_stream,
    lines,
    numbers,
    panels_per_stream,
    rising,
    spread_of,
    the,
    where,
)
from unskew_lab.papers.specification import Claim, Figure, Row, Setting
from unskew_lab.papers.streams import on_reals, wikipedia

SIZES = (5, 10, 50, 100)
DISTINCT = "CG, distinct choices"


def _fig5_on(setting: Setting, name: str, stream: Stream) -> list[At]:
    cells = [
        At("epsilon", epsilon, Routed(name, stream, "CG", cg(10, epsilon=epsilon)))
        for epsilon in (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
    ]
    for other, partitioner in (("KG", KeyGrouping(10)), ("SG", ShuffleGrouping(10))):
        cells.append(At("epsilon", 0.0, Routed(name, stream, other, partitioner)))
    return cells


def _fig5_of(name: str, here: Sequence[Row]) -> list[Claim]:
    rows = where(here, scheme="CG")
    imbalances, memory = numbers(rows, "above_mean"), numbers(rows, "replicas")
    bounds = [the(here, "replicas", scheme=each) for each in ("KG", "SG")]
    between = bounds[0] <= memory[-1] and memory[0] <= bounds[1]
    trades = rising(imbalances, 0.25) and rising(memory[::-1], 0.02)
    real_trade = imbalances[-1] > 10 * imbalances[0] and memory[0] > 1.1 * memory[-1]
    return [
        Claim(
            "a lower ε gives less imbalance and more memory, between SG and KG",
            "yes",
            f"ε 0.001 → 3: imbalance {imbalances[0]:.2g} → {imbalances[-1]:.2g}, replicas "
            f"{memory[0]:,.0f} → {memory[-1]:,.0f}; SG {bounds[1]:,.0f}, KG {bounds[0]:,.0f}",
            trades and real_trade and between,
            value=memory[0] / memory[-1],
        )
    ]


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
    lambda setting: _fig5_on(setting, WP, wikipedia(setting)),
    lambda rows: each_stream(rows, _fig5_of),
    _fig5_plot,
    choices="The WP data set is not public: a Zipf stream with its p₁ = 9.32 % stands in for it.",
    draws=DRAWS,
    real=on_reals(_fig5_on),
)


def _fig6_on(setting: Setting, name: str, stream: Stream) -> list[Routed]:
    return [
        Routed(name, stream, scheme, partitioner)
        for workers in SIZES
        for scheme, partitioner in {
            **schemes(workers, setting.draw),
            "CH": OnVirtualWorkers(BoundedRing(10 * workers, EPSILON), workers),
            "CG": cg(workers),
            DISTINCT: ConsistentGrouping(workers, virtual=10, epsilon=EPSILON),
        }.items()
        if scheme != "PoRC"
    ]


def _fig6_of(name: str, here: Sequence[Row]) -> list[Claim]:
    level = {s: numbers(where(here, scheme=s), "above_mean") for s in ("KG", "PKG", "CG", DISTINCT)}
    used = {
        s: numbers(where(here, scheme=s), "replicas")
        for s in ("KG", "CG", "CH", "SG", "PoTC", DISTINCT)
    }
    kg, pkg, bounded = level["KG"], level["PKG"], max(level["CG"])
    ordered = [rising([used[s][i] for s in ("KG", "CG", "CH", "SG")]) for i in range(len(SIZES))]
    same = [a / b for a, b in zip(used["PoTC"], used["SG"], strict=True)]
    saved = [a / b for a, b in zip(used["CG"], used[DISTINCT], strict=True)]
    return [
        Claim(
            "KG is the least level; PKG is level at 5 and 10 workers and not beyond",
            "yes",
            f"5/10/50/100 workers: KG {listed(kg)}; PKG {listed(pkg)}",
            all(a >= b for a, b in zip(kg, pkg, strict=True))
            and max(pkg[:2]) < 0.05 < pkg[-1]
            and rising(pkg[1:]),
            "the hottest key of this stream is too cold to overload its two workers, or so hot "
            "that it does with 10",
            value=max(pkg[:2]),
        ),
        Claim(
            "CG's imbalance is bounded",
            "ε = 0.01",
            f"at most {bounded:.2g}",
            bounded <= 2 * EPSILON,
            "few rows per virtual worker: its capacity is a whole number",
            value=bounded,
        ),
        Claim(
            "memory KG < CG < CH < SG, and PoTC as SG",
            "at 5, 10, 50 and 100 workers",
            f"at {sum(ordered)} of {len(ordered)}; at 100: "
            + ", ".join(f"{s} {used[s][-1]:,.0f}" for s in ("KG", "CG", "CH", "SG", "PoTC")),
            all(ordered) and max(abs(ratio - 1) for ratio in same) <= 0.05,
            "with few keys, or few rows per key, the schemes meet",
            value=min(a / b for a, b in zip(used["CH"], used["CG"], strict=True)),
        ),
        Claim(
            "distinct choices are as level with as much memory, to a twentieth",
            "(independent hashes)",
            f"CG's memory is {spread_of(saved)} of what it is with distinct choices, imbalance "
            f"≤ {max(level[DISTINCT]):.2g}",
            min(saved) >= 0.95 and max(level[DISTINCT]) <= 2 * EPSILON,
            value=min(saved),
            added=True,
        ),
    ]


def _over_workers(rows: Sequence[Row], title: str) -> Plot:
    y = (("above_mean", ABOVE_MEAN), ("memory", MEMORY))
    panels = panels_per_stream(rows, "workers", "workers", *y, log_x=True, floor=1e-6)
    return Plot(f"Consistent Grouping, {title}", panels, columns=2)


FIG6 = Figure(
    "6",
    "Schemes on equal workers",
    lambda setting: _fig6_on(setting, WP, wikipedia(setting)),
    lambda rows: each_stream(rows, _fig6_of),
    lambda rows: _over_workers(rows, "Fig 6: homogeneous workers"),
    choices="CH and CG have 10 virtual workers per worker, ε = 0.01, and no signals.",
    draws=DRAWS,
    real=on_reals(_fig6_on),
)


def _fig9_on(setting: Setting, name: str, stream: Stream) -> list[Routed]:
    return [
        Routed(name, stream, f"{sources} sources", cg(workers), sources)
        for workers in SIZES
        for sources in (1, 10, 50, 100)
    ]


def _fig9_of(name: str, here: Sequence[Row]) -> list[Claim]:
    memory, level = [], []
    for n in SIZES:
        used = numbers(where(here, workers=n), "replicas")
        memory.append(max(used) / min(used))
        level.append(max(numbers(where(here, workers=n), "above_mean")))
    return [
        Claim(
            "imbalance and memory nearly the same with 1, 10, 50 and 100 sources",
            "same on a log scale",
            f"memory within {max(memory):.2f} ×; imbalance ≤ {max(level):.2g}",
            max(memory) <= 1.5 and max(level) <= 5 * EPSILON,
            "a source has few rows for each of 1,000 virtual workers here, so that its capacity, "
            "in whole rows, is loose or tight by a row each",
            value=max(memory),
        )
    ]


FIG9 = Figure(
    "9",
    "CG with 1 to 100 sources",
    lambda setting: _fig9_on(setting, WP, wikipedia(setting)),
    lambda rows: each_stream(rows, _fig9_of),
    lambda rows: _over_workers(rows, "Fig 9: CG with many sources"),
    draws=DRAWS,
    real=on_reals(_fig9_on),
)

FIGURES = (FIG5, FIG6, FIG9)
