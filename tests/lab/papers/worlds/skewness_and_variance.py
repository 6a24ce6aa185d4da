"""The figures of the paper on workload skewness and variance as it has them."""

from __future__ import annotations

from typing import Any

from tests.lab.papers.worlds.making import Rows, World, grid, put, times

from unskew_lab.papers.skewness_and_variance.appendix import BETAS, TABLES, TIMES
from unskew_lab.papers.skewness_and_variance.parameters import RATES, SIGMAS, THETAS, WORKERS

MIGRATES = {"Mixed": 0.02, "MixedBF": 0.021, "MinTable": 0.06, "Level (ours)": 0.01}

RIVALS = ("Mixed", "MinTable", "Level (ours)")


def planned(columns: dict[str, Any], planners: Any = RIVALS, **values: Any) -> Rows:
    """Plans over intervals; MinTable moves three times as much as Mixed."""
    made = grid(
        {"window": (1, 5), **columns, "planner": planners},
        migration=lambda row: MIGRATES.get(row["planner"], 0.02),
        seconds=0.05,
        max_over_mean=1.08,
        heaviest=0.2,
        table=500,
        plans=5,
    )
    return [{**row, **{k: v(row) if callable(v) else v for k, v in values.items()}} for row in made]


FIG4 = World(
    [
        {"planner": "LLFD", "loads": "10 10", "entries": 4, "table": ""},
        {"planner": "MinTable", "loads": "10 10", "entries": 2, "table": ""},
    ],
    [
        ("LLFD on", put({"planner": "LLFD"}, loads="11 9")),
        ("MinTable on", put({"planner": "MinTable"}, entries=3)),
    ],
)
FIG6 = World(
    [{"function": "steps", "deviation": 3.0}, {"function": "HLHE", "deviation": 0.0}],
    [("total deviation", put({"function": "HLHE"}, deviation=1.0))],
)
THEOREMS = World(
    [
        {
            "instances": 400, "simple_of_bound": 0.7, "llfd_of_bound": 0.9, "level_of_bound": 0.4,
            "mixed_above_simple": 0, "level_above_simple": 0, "mixed_above_llfd_0": 0,
            "mixed_above_llfd_0.02": 0, "mixed_above_llfd_0.08": 0,
        },
        *grid({"R": (1, 8, 256)}, deviation=1e-7),
    ],
    [
        ("Theorem 1", put({"instances": 400}, llfd_of_bound=1.1)),
        ("Theorem 2", put({"instances": 400}, **{"mixed_above_llfd_0.08": 1})),
        ("Theorem 3", put({"R": 256}, deviation=0.01)),
        ("Theorem 4", put({"instances": 400}, mixed_above_simple=1)),
        ("Level is no worse", put({"instances": 400}, level_above_simple=1)),
    ],
)  # fmt: skip
FIG7 = World(
    [
        *grid({"keys": (1_000_000,), "workers": WORKERS},
              max_over_min=lambda row: 1.1 + 1.4 * row["workers"] / 40),
        *({"keys": keys, "workers": 15, "max_over_min": skew}
          for keys, skew in ((5_000, 4.0), (10_000, 3.0), (100_000, 2.0), (1_000_000, 1.5))),
    ],
    [
        ("grows with the workers", put({"workers": 40}, max_over_min=1.2)),
        ("grows with the workers", put({"workers": 40}, max_over_min=9.0)),
        ("fewer keys", put({"keys": 5_000}, max_over_min=2.0)),
        ("fewer keys", put({"keys": 1_000_000}, max_over_min=5.0)),
    ],
)  # fmt: skip
FIG8 = World(
    put({"workers": 40, "planner": "MinTable"}, migration=0.021)(planned({"workers": WORKERS})),
    [
        ("up to 35 workers", times(0.4, "migration", planner="MinTable")),
        ("at 40 workers", put({"workers": 40, "planner": "MinTable"}, migration=0.06)),
        ("Level migrates less", times(9, "migration", planner="Level (ours)")),
        ("Level migrates less", put({"planner": "Level (ours)"}, max_over_mean=1.3)),
    ],
)
FIG9 = World(
    planned(
        {"theta": THETAS},
        migration=lambda row: MIGRATES[row["planner"]] * (1 - row["theta"]),
        max_over_mean=lambda row: 1 + row["theta"],
    ),
    [
        ("three times Mixed's", times(0.4, "migration", planner="MinTable")),
        ("three times Mixed's", times(4, "migration", planner="MinTable")),
        ("less than a second", put({"theta": 0.02, "planner": "Mixed"}, seconds=2.0)),
        ("looser tolerance", put({"planner": "Mixed", "theta": 0.5}, migration=0.9)),
        ("keeps θ=0.02", times(9, "migration", planner="Level (ours)")),
        ("keeps θ=0.08", put({"planner": "Level (ours)"}, max_over_mean=1.3)),
    ],
)
FIG10 = World(
    planned({"keys": (5_000, 10_000, 100_000)}, seconds=lambda row: row["keys"] / 1e6),
    [
        ("plans longer", put({"planner": "Mixed"}, seconds=0.05)),
        ("less than MinTable", put({"planner": "MinTable", "keys": 10_000}, migration=0.001)),
        ("Level migrates less", times(9, "migration", planner="Level (ours)")),
    ],
)
FIG11 = World(
    [
        {"form": "full key space", "R": 0, "records": 1_000_000, "seconds": 6.0, "making": 0.0,
         "load_error": 0.0, "max_over_mean": 1.08},
        *({"form": "compact", "R": 2**r, "records": 10_000, "seconds": 0.6 / 2 ** (r - 3),
           "making": 3.0, "load_error": 0.005, "max_over_mean": 1.08} for r in range(9)),
    ],
    [
        ("ten times as fast", put({"R": 8}, seconds=3.0)),
        ("larger R is faster", put({"R": 256}, seconds=30.0)),
        ("within 1 %", put({"R": 64}, load_error=0.05)),
    ],
)  # fmt: skip
READJ = tuple(f"Readj σ={sigma:g}" for sigma in SIGMAS)
FIG12 = World(
    planned(
        {"window": (5,), "rate": RATES},
        ("Mixed", "MixedBF", "Level (ours)", *READJ),
        migration=lambda row: (
            MIGRATES.get(row["planner"], 0.03)
            + (0.02 if row["planner"] in READJ else 0.001) * row["rate"]
        ),
        seconds=lambda row: {"Mixed": 0.01, "MixedBF": 0.5}.get(row["planner"], 1.0),
    ),
    [
        ("much faster than Readj", put({"planner": READJ}, seconds=0.01)),
        ("grows slower", put({"planner": "Mixed", "rate": 2.0}, migration=0.5)),
        ("MixedBF migrates like", put({"planner": "MixedBF"}, migration=0.3)),
        ("MixedBF is much slower", put({"planner": "MixedBF"}, seconds=0.01)),
        ("Level migrates less", times(9, "migration", planner="Level (ours)")),
    ],
)
FIG17 = World(
    grid(
        {"theta": (0.02, 0.08), "limit": TABLES},
        migration=lambda row: 0.1 if row["limit"] < 2_000 else 0.02,
    ),
    [
        (f"θ={theta}", change)
        for theta in (0.02, 0.08)
        for change in (
            put({"theta": theta}, migration=0.02),
            put({"theta": theta}, migration=lambda row: 0.1 if row["limit"] < 16 else 0.02),
        )
    ],
)
FILLED = {"0": 1_880, "0.02": 1_870, "0.08": 1_860}
FIG18 = World(
    [
        {"θ": theta, "keys": 2_000, "adjustments": 20 * n, "table": size * n / 50}
        for theta, size in FILLED.items()
        for n in range(1, 51)
    ],
    [
        ("tends to", times(0.55, "table", θ="0.08")),
        ("tends to", put({"adjustments": 1_000}, table=2_000.0 * 1.1)),
        ("grow faster", times(2, "table", θ="0.08")),
    ],
)
FIG19 = World(
    planned({"window": TIMES}, migration=lambda row: MIGRATES[row["planner"]] / row["window"]),
    [
        ("larger window", put({"planner": "Mixed", "window": 20}, migration=0.5)),
        ("less than MinTable", put({"planner": "MinTable", "window": 10}, migration=1e-5)),
        ("Level migrates less", times(30, "migration", planner="Level (ours)")),
    ],
)
BETA_ROWS = grid(
    {"window": (1, 5), "theta": (0.02, 0.08), "beta": BETAS},
    table=lambda row: 6_000 if row["beta"] == 1 else 200 if row["beta"] < 1.5 else 100,
    migration=lambda row: 0.01 * row["beta"],
)
FIG20 = World(
    BETA_ROWS,
    [
        ("smaller table", put({"beta": 2.0}, table=9_000)),
        ("stable", put({"beta": 1.75}, table=900)),
    ],
)
FIG21 = World(BETA_ROWS, [("cares less", put({"beta": 2.0}, migration=0.001))])

WORLDS = {
    "4": FIG4, "6": FIG6, "theorems": THEOREMS, "7": FIG7, "8": FIG8, "9": FIG9, "10": FIG10,
    "11": FIG11, "12": FIG12, "17": FIG17, "18": FIG18, "19": FIG19, "20": FIG20, "21": FIG21,
}  # fmt: skip
