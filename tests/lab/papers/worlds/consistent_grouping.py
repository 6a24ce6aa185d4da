"""Consistent Grouping's figures as the paper has them."""

from __future__ import annotations

from tests.lab.papers.worlds.making import Rows, World, grid, put, timeline, times

from unskew_lab.papers.consistent_grouping.machines import OURS, SWEEP

LOADS = {"KG": 1.0, "PKG": 0.5, "PoTC": 1e-6, "PoRC": 0.005, "CH": 0.005, "SG": 1e-6}
MEMORY = {"KG": 1.0, "PKG": 1.5, "PoRC": 1.6, "CH": 3.0, "SG": 5.0, "PoTC": 5.0}
BOUNDS = World(
    [
        *grid({"workers": (10, 100)}, worst_excess=0.9, replicas=1300, fewest=1000),
        *grid({"n": (5, 10, 50)}, hottest_on=lambda row: row["n"] - 1),
    ],
    [
        ("within ε", put({"workers": 100}, worst_excess=2.0)),
        ("at least Σ", put({"workers": 10}, replicas=999)),
        ("no key is on all", put({"n": 10}, hottest_on=10)),
    ],
)


def _above_mean(row) -> float:
    level = LOADS[row["scheme"]]
    return level if level < 0.1 else level * row["workers"] * max(row["z"] - 0.9, 0.001)


FIG4 = World(
    grid(
        {"workers": (10, 100, 1000), "z": (0.4, 1.2, 2.0), "scheme": tuple(LOADS)},
        above_mean=_above_mean,
        replicas=lambda row: 100_000 * MEMORY[row["scheme"]],
    ),
    [
        ("grows with the skew", put({"scheme": "PKG", "z": 2.0}, above_mean=0.001)),
        ("grows with the skew", put({"scheme": "KG", "workers": 1000}, above_mean=0.001)),
        ("stay low", put({"scheme": "CH", "z": 1.2}, above_mean=0.3)),
        ("KG needs the least", times(0.5, "replicas", scheme="PoRC")),
        ("PoRC needs less", times(0.2, "replicas", scheme="SG")),
        ("as much memory as SG", times(2e8, "replicas", scheme="PoTC")),
        ("as much memory as SG", times(0.5, "replicas", scheme="PoTC")),
    ],
)

EPSILONS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
FIG5 = World(
    [
        *grid(
            {"stream": ("WP-like",), "scheme": ("CG",), "epsilon": EPSILONS},
            above_mean=lambda row: row["epsilon"],
            replicas=lambda row: 200_000 - 30_000 * row["epsilon"],
        ),
        {"stream": "WP-like", "scheme": "KG", "epsilon": 0.0, "above_mean": 5, "replicas": 100_000},
        {"stream": "WP-like", "scheme": "SG", "epsilon": 0.0, "above_mean": 0, "replicas": 300_000},
    ],
    [
        ("lower ε", put({"scheme": "CG"}, above_mean=0.01)),
        ("lower ε", put({"scheme": "CG"}, replicas=200_000)),
        ("lower ε", put({"scheme": "SG"}, replicas=150_000)),
        ("lower ε", put({"scheme": "CG", "epsilon": 0.001}, above_mean=0.5)),
    ],
)

DISTINCT = "CG, distinct choices"
PKG_LEVELS = {5: 1e-6, 10: 1e-5, 50: 1.3, 100: 3.7}
USED = {"KG": 1, "PKG": 1.3, "CG": 1.8, DISTINCT: 1.8, "CH": 3, "SG": 5, "PoTC": 5}
FIG6 = World(
    grid(
        {"stream": ("WP-like",), "workers": (5, 10, 50, 100), "scheme": tuple(USED)},
        above_mean=lambda row: {"KG": 0.1 * row["workers"], "PKG": PKG_LEVELS[row["workers"]]}.get(
            row["scheme"], 0.01
        ),
        replicas=lambda row: 100_000 * USED[row["scheme"]],
        imbalance=0.01,
    ),
    [
        ("KG is the least level", put({"scheme": "PKG", "workers": 10}, above_mean=0.2)),
        ("KG is the least level", put({"scheme": "PKG", "workers": 100}, above_mean=1e-4)),
        ("KG is the least level", put({"scheme": "KG"}, above_mean=1e-7)),
        ("imbalance is bounded", put({"scheme": "CG", "workers": 50}, above_mean=0.1)),
        ("memory KG < CG", times(0.5, "replicas", scheme="CH")),
        ("memory KG < CG", times(2, "replicas", scheme="PoTC")),
        ("distinct choices are", times(1.5, "replicas", scheme=DISTINCT)),
    ],
)

FIG9 = World(
    grid(
        {"stream": ("WP-like",), "workers": (5, 10, 50, 100), "sources": (1, 10, 50, 100)},
        above_mean=0.01,
        replicas=lambda row: 100_000 + 100 * row["sources"],
        messages=1_000_000,
    ),
    [
        ("nearly the same", times(2.9, "replicas", sources=100)),
        ("nearly the same", put({"sources": 100}, above_mean=0.1)),
    ],
)


def runs(**schemes: Rows) -> Rows:
    return [row for rows in schemes.values() for row in rows]


FIG7 = World(
    [
        *timeline("KG", 30_000, grows=True, spread=0.8),
        *(row for s in ("CG", "PKG", "PoTC", "SG") for row in timeline(s, spread=0.01)),
    ],
    [
        ("grow with KG", put({"scheme": "KG"}, queue_spread=3)),
        ("grow with KG", put({"scheme": "CG"}, queue_spread=5_000)),
        ("grow with KG", put({"scheme": "CG"}, utilisation_spread=0.5)),
        ("no difference", put({"scheme": "PKG"}, utilisation_spread=0.3)),
        ("no difference", put({"scheme": "SG"}, queue_spread=900)),
    ],
)
FIG8 = World(
    [
        *timeline("KG", 300_000, grows=True, imbalance=1.5, spread=2),
        *timeline("SG", 120_000, grows=True, imbalance=0.4, spread=1.4),
        *timeline("CG"),
        *timeline(OURS),
    ],
    [
        ("not with CG", put({"scheme": "CG"}, queue_max=5_000_000)),
        ("not with CG", put({"scheme": "SG"}, queue_max=3)),
        ("close to 0", put({"scheme": "CG"}, imbalance=0.3)),
        ("our defaults", put({"scheme": OURS}, utilisation_spread=0.3)),
        ("our defaults", put({"scheme": OURS}, queue_max=9_000)),
    ],
)
SWEPT = World(
    [row for form in SWEEP for row in timeline(form)],
    [("CG's queues are low", put({"scheme": "9x10"}, queue_max=9_000))],
)
SIGNALS = World(
    [row for n in (1, 10, 50) for row in timeline(f"{n} sources")],
    [
        ("acknowledgements only", put({"scheme": "50 sources"}, settled=0.4)),
        ("acknowledgements only", put({"scheme": "10 sources"}, queue_max=9_000)),
    ],
)
FIG10 = World(
    [
        *timeline("5 VW", spread=0.4),
        *timeline("10 VW", spread=0.08),
        *timeline("20 VW", spread=0.04),
        *timeline("50 VW", spread=0.03),
        *timeline("100 VW", spread=0.02),
        *timeline("1000 VW", 100_000, spread=1.1),
    ],
    [
        ("5 virtual workers", put({"scheme": "5 VW"}, utilisation_spread=0.01)),
        ("1000 take longer", put({"scheme": "1000 VW"}, queue_max=3)),
        ("10 and 20", put({"scheme": "20 VW"}, queue_max=9_000)),
        ("100 give", put({"scheme": "100 VW"}, settled=0.06)),
    ],
)
FIG11 = World(
    [
        *timeline("KG", 900_000, grows=True, spread=2.5),
        *timeline("SG", 400_000, grows=True, spread=1.5),
        *timeline("CG", 5_000),
        *timeline(OURS, 500),
    ],
    [
        ("CG adapts", put({"scheme": "CG"}, utilisation_spread=0.4)),
        ("CG adapts", put({"scheme": "CG"}, queue_max=lambda row: 100 * row["messages"])),
        ("KG and SG do not", put({"scheme": "SG"}, utilisation_spread=0.01)),
        ("KG and SG do not", put({"scheme": "KG"}, queue_max=3)),
        ("our defaults", put({"scheme": OURS}, utilisation_spread=0.4)),
        ("our defaults", put({"scheme": OURS}, peak=5_000)),
    ],
)

WORLDS = {
    "bounds": BOUNDS, "4": FIG4, "5": FIG5, "6": FIG6, "9": FIG9, "7": FIG7, "8": FIG8,
    "8-sweep": SWEPT, "9-signals": SIGNALS, "10": FIG10, "11": FIG11,
}  # fmt: skip
