"""Figures 5 and 6: balance and migration over the frequency threshold and the workers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from unskew_lab.papers.judging import DRAWS
from unskew_lab.papers.partitioning_functions.growth import (
    CHOICES,
    PLANNERS,
    SCHEMES,
    Grown,
    at_ten,
    curves,
    grown,
    order_of_migration,
)
from unskew_lab.papers.reading import near, numbers, the, where
from unskew_lab.papers.specification import Claim, Figure, Row, Setting

SIGMAS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.25, 0.5, 1.0)
RESOURCES = ("LCL", "LQL")


def _fig5_cells(setting: Setting) -> list[Grown]:
    return [
        grown(setting, scheme, letters=letters, sigma=sigma)
        for letters in RESOURCES
        for sigma in SIGMAS
        for scheme in PLANNERS
    ]


def _fig5_claims(rows: Sequence[Row]) -> list[Claim]:
    last = where(at_ten(rows), resources="LCL")
    claims = []
    for scheme in PLANNERS:
        b = [the(last, "imbalance", scheme=scheme, sigma=sigma) for sigma in SIGMAS]
        m = [the(last, "migration", scheme=scheme, sigma=sigma) for sigma in SIGMAS]
        claims.append(
            Claim(
                f"{scheme}: a smaller σ means better balance and more migration",
                "better balance, more migration",
                f"b {b[0]:.2f} at σ=0.01, {b[-1]:.2f} at 1; m {m[0]:.2f} and {m[-1]:.2f}",
                b[0] < b[-1] and m[0] > m[-1],
                value=b[0] / b[-1],
            )
        )
    migration = {
        s: float(np.mean(numbers(where(at_ten(rows), scheme=s), "migration"))) for s in PLANNERS
    }
    return [
        *claims,
        *_fig5_quadratic(at_ten(rows)),
        order_of_migration("over all σ, LCL and LQL,", migration),
    ]


def _fig5_quadratic(rows: Sequence[Row]) -> list[Claim]:
    """LQL beside LCL, as means over the planners."""
    level = {
        letters: [
            float(np.mean(numbers(where(rows, resources=letters, sigma=each), "imbalance")))
            for each in SIGMAS
        ]
        for letters in RESOURCES
    }
    gains = {letters: b[-1] / b[0] for letters, b in level.items()}
    below = {letters: b[SIGMAS.index(0.25)] / b[0] for letters, b in level.items()}
    steps = [later / earlier for earlier, later in pairwise(level["LQL"])]
    jump = SIGMAS.index(0.5) - 1
    return [
        Claim(
            "LQL: a smaller σ improves the balance less than for LCL",
            "less",
            f"b is {gains['LQL']:.2f} times as high at σ=1 as at 0.01, LCL {gains['LCL']:.2f}; "
            f"at 0.25 {below['LQL']:.2f} and {below['LCL']:.2f} times",
            gains["LQL"] < gains["LCL"],
            "the jump past 0.25 is most of it; below, the two gain alike",
            value=gains["LQL"] / gains["LCL"],
        ),
        Claim(
            "LQL: the imbalance jumps between σ=0.25 and 0.5",
            "a significant jump",
            f"× {steps[jump]:.2f}; at most × {max(steps[:jump] + steps[jump + 1 :]):.2f} in others",
            steps[jump] == max(steps) and steps[jump] >= 1.25,
            value=steps[jump],
        ),
    ]


def _fig6_cells(setting: Setting) -> list[Grown]:
    return [grown(setting, scheme, workers=32) for scheme in SCHEMES]


def _fig6_claims(rows: Sequence[Row]) -> list[Claim]:
    m = {scheme: the(rows, "migration", scheme=scheme, workers=32) for scheme in SCHEMES}
    b = {scheme: the(rows, "imbalance", scheme=scheme, workers=32) for scheme in SCHEMES}
    redist = numbers(where(rows, scheme="redist"), "migration")[8:]
    best = [
        min(PLANNERS, key=lambda s: the(rows, "imbalance", scheme=s, workers=workers))
        for workers in range(2, 21)
    ]
    worst = [
        max(PLANNERS, key=lambda s: the(rows, "imbalance", scheme=s, workers=workers))
        for workers in range(21, 33)
    ]
    return [
        Claim(
            "N=32: uniform hashing migrates about 22 times the ideal",
            "22",
            f"{m['uniform']:.1f}",
            near(m["uniform"], 22),
            "hash mod N moves all but 1/N of the state, which is N − 1 times the ideal: 31",
            value=m["uniform"],
        ),
        Claim(
            "redist stays flat at about 1.15",
            "1.15",
            f"{np.mean(redist):.2f} on average over N=10…32, {m['redist']:.2f} at 32",
            near(float(np.mean(redist)), 1.15),
            value=float(np.mean(redist)),
        ),
        Claim(
            "N=32: scan is above 3",
            "> 3",
            f"{m['scan']:.2f}",
            m["scan"] > 3,
            "Algorithm 2 to the letter gives 1.0 to 1.2 too, also with sampled frequencies: it "
            "never moves its first item, the hottest key",
            value=m["scan"],
        ),
        Claim(
            "N=32: consistent hashing's imbalance is above 2",
            "> 2",
            f"{b['consistent']:.2f}",
            b["consistent"] > 2,
            value=b["consistent"],
        ),
        Claim(
            "readj balances best up to N=20",
            "best",
            f"best of the three at {best.count('readj')} of {len(best)} sizes",
            best.count("readj") >= 0.9 * len(best),
            "the three are a hundredth apart",
            value=best.count("readj"),
        ),
        Claim(
            "past N=20 readj balances worse than redist and scan",
            "above both",
            f"worst of the three at {worst.count('readj')} of {len(worst)} sizes",
            worst.count("readj") >= 0.9 * len(worst),
            "ours goes on as long as a readjustment lowers the imbalance (see the slips), and pays "
            "for it in migration",
            value=worst.count("readj"),
        ),
        order_of_migration(
            "over N=10…32",
            {s: float(np.mean(numbers(where(rows, scheme=s), "migration")[8:])) for s in PLANNERS},
        ),
    ]


FIGURES = (
    Figure(
        "5", "Frequency threshold", _fig5_cells, _fig5_claims,
        lambda rows: curves(at_ten(rows), "Fig 5: threshold scaler", "sigma", "σ", log_x=True),
        CHOICES,
        DRAWS,
    ),
    Figure(
        "6", "Number of workers", _fig6_cells, _fig6_claims,
        lambda rows: curves(rows, "Fig 6: workers", "workers", "N"), CHOICES,
        DRAWS,
    ),
)  # fmt: skip
