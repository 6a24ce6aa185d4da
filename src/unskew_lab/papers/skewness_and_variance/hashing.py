"""Figure 7: the loads of workers whose keys go by their hash."""

from __future__ import annotations

from collections.abc import Sequence

from unskew_lab.papers.judging import DRAWS
from unskew_lab.papers.plot import Panel, Plot
from unskew_lab.papers.reading import lines, near, rising, the
from unskew_lab.papers.skewness_and_variance.parameters import FACTOR, WORKERS
from unskew_lab.papers.skewness_and_variance.planning import Hashed
from unskew_lab.papers.specification import Claim, Figure, Row, Setting


def _fig7_cells(setting: Setting) -> list[Hashed]:
    deals, seed = 1 if setting.quick else 5, 1_000 * setting.seed
    by_workers = [Hashed(1_000_000, workers, deals, seed=seed) for workers in WORKERS]
    by_keys = [Hashed(keys, 15, deals, seed=seed) for keys in (5_000, 10_000, 100_000, 1_000_000)]
    return [*by_workers, *by_keys]


def _fig7_claims(rows: Sequence[Row]) -> list[Claim]:
    keys = max(int(row["keys"]) for row in rows)
    by_workers = [the(rows[: len(WORKERS)], "max_over_min", workers=each) for each in WORKERS]
    by_keys = rows[len(WORKERS) :]
    small, large = by_keys[0], by_keys[-1]
    return [
        Claim(
            "hashing: skewness grows with the workers, to max/min ≈ 2.5 at 40",
            "grows to 2.5",
            f"{by_workers[0]:.2f} at {WORKERS[0]}, {by_workers[-1]:.2f} at 40 workers, K={keys:,}",
            rising(by_workers, slack=0.15) and near(by_workers[-1], 2.5, FACTOR),
            value=by_workers[-1],
        ),
        Claim(
            "hashing: fewer keys are more skewed, max/min ≈ 4 at 5,000",
            "4",
            f"{small['max_over_min']:.2f} at {small['keys']:,}, "
            f"{large['max_over_min']:.2f} at {large['keys']:,} keys",
            near(float(small["max_over_min"]), 4, FACTOR)
            and float(small["max_over_min"]) > float(large["max_over_min"]),
            "with a ring of 1,000 points a worker; how many the paper has is not told: 20 points "
            "give 4.2, and 2.5 at a million keys",
            value=float(small["max_over_min"]),
        ),
    ]


def _fig7_plot(rows: Sequence[Row]) -> Plot:
    measured = [
        {**row, "load": name, "value": row[name]}
        for row in rows
        for name in ("max_over_mean", "min_over_mean")
    ]
    split = 2 * len(WORKERS)
    return Plot(
        "Skewness and variance, Fig 7: loads under hashing",
        [
            Panel(
                "over workers",
                "workers",
                "load / mean",
                lines(measured[:split], "workers", "value", "load"),
            ),
            Panel(
                "over keys",
                "keys",
                "load / mean",
                lines(measured[split:], "keys", "value", "load"),
                log_x=True,
            ),
        ],
        columns=2,
    )


FIGURES = (Figure("7", "Loads under hashing", _fig7_cells, _fig7_claims, _fig7_plot, draws=DRAWS),)
