"""Figures 3 to 6: balance and migration over resources, skew, threshold and workers."""

from __future__ import annotations

from collections.abc import Sequence

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
)
from unskew_lab.papers.reading import near, spread_of, the, where
from unskew_lab.papers.specification import Claim, Figure, Row, Setting


def _fig3_cells(setting: Setting) -> list[Grown]:
    return [
        grown(setting, scheme, letters=letters)
        for letters in ("CCL", "LCL", "LLL", "LQL")
        for scheme in SCHEMES
    ]


def _fig3_claims(rows: Sequence[Row]) -> list[Claim]:
    last = where(at_ten(rows), resources="LLL")
    b = {scheme: the(last, "imbalance", scheme=scheme) for scheme in SCHEMES}
    m = {scheme: the(last, "migration", scheme=scheme) for scheme in SCHEMES}
    squared = where(at_ten(rows), resources="LQL")
    quadratic = {scheme: the(squared, "b_c", scheme=scheme) for scheme in SCHEMES}
    claims = [
        Claim(
            f"LLL: imbalance of {scheme}",
            f"{paper:g}",
            f"{b[scheme]:.3f}",
            near(b[scheme], paper),
            "at 100,000 keys a ring is less level than at a million: 2.16 and 1.87 on average",
            value=b[scheme],
        )
        for scheme, paper in (
            ("readj", 1.2),
            ("redist", 1.32),
            ("scan", 1.32),
            ("uniform", 1.55),
            ("consistent", 1.75),
        )
    ]
    claims += [
        Claim(
            "LLL: readj is best, then redist and scan, uniform, consistent",
            "in this order",
            ", ".join(
                f"{name} {value:.2f}" for name, value in sorted(b.items(), key=lambda x: x[1])
            ),
            b["readj"] <= min(b["redist"], b["scan"]) * 1.001
            and max(b["redist"], b["scan"]) < b["uniform"] < b["consistent"],
            "readj, redist and scan are a hundredth apart here",
            value=b["readj"] / min(b["redist"], b["scan"]),
        ),
        Claim(
            "LLL: migration of readj 1.34, redist and scan 1.23 of the ideal",
            "1.34, 1.23, 1.23",
            f"{m['readj']:.2f}, {m['redist']:.2f}, {m['scan']:.2f}",
            near(m["readj"], 1.34) and near(m["redist"], 1.23) and near(m["scan"], 1.23),
            "one hot key more or less in the last step changes it by a tenth or more",
            value=m["readj"],
        ),
        Claim(
            "uniform hashing migrates more than 8 times the ideal",
            "> 8",
            f"{m['uniform']:.2f}",
            m["uniform"] > 8,
            value=m["uniform"],
        ),
        Claim(
            "LQL: computation cannot be balanced at z=1; b_c in the thirties at best",
            "30 … 40",
            ", ".join(f"{scheme} {value:.0f}" for scheme, value in quadratic.items()),
            30 / 1.25 <= min(quadratic.values()) <= 40 * 1.25,
            value=min(quadratic.values()),
        ),
    ]
    return claims


EXPONENTS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0)


def _fig4_cells(setting: Setting) -> list[Grown]:
    return [
        grown(setting, scheme, letters=letters, exponent=exponent)
        for letters in ("LCL", "LLL")
        for exponent in EXPONENTS
        for scheme in SCHEMES
    ]


def _fig4_claims(rows: Sequence[Row]) -> list[Claim]:
    last = where(at_ten(rows), resources="LLL")
    worst = the(last, "imbalance", scheme="consistent", exponent=1.0)
    worse = worst / the(last, "imbalance", scheme="readj", exponent=1.0) - 1
    early = {s: the(last, "migration", scheme=s, exponent=0.7) for s in PLANNERS}
    late = {s: the(last, "migration", scheme=s, exponent=1.0) for s in PLANNERS}
    level = [the(last, "imbalance", scheme=s, exponent=0.1) for s in SCHEMES]
    return [
        Claim(
            "the planners' migration rises past z=0.8",
            "rises",
            "; ".join(f"{s} {early[s]:.2f} at 0.7, {late[s]:.2f} at 1.0" for s in PLANNERS),
            all(late[s] > early[s] for s in PLANNERS),
            value=min(late[s] / early[s] for s in PLANNERS),
        ),
        Claim(
            "at z=1 scan migrates most and redist least",
            "scan, readj, redist",
            ", ".join(f"{s} {late[s]:.2f}" for s in PLANNERS),
            late["redist"] < late["readj"] < late["scan"],
            "the reverse: redist and readj move the heaviest keys for the balance, scan places "
            "them first and where they were",
            value=late["scan"] / late["redist"],
        ),
        Claim(
            "consistent hashing is up to 50 % worse than readj at z=1 (LLL)",
            "+50 %",
            f"{worse:+.0%}",
            near(1 + worse, 1.5),
            "a tenth of the keys, and a hashing each: over 40 hashings the ring's b is 2.16 ± 0.29 "
            "at 100,000 keys and 1.87 ± 0.22 at a million, where the paper's 1.75 lies within",
            value=worse,
        ),
        Claim(
            "with little skew all are below the line b=1",
            "< 1",
            spread_of(level),
            max(level) < 1,
            value=max(level),
        ),
    ]


SIGMAS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


def _fig5_cells(setting: Setting) -> list[Grown]:
    return [
        grown(setting, scheme, letters=letters, sigma=sigma)
        for letters in ("LCL", "LQL")
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
    return claims


def _fig6_cells(setting: Setting) -> list[Grown]:
    return [grown(setting, scheme, workers=32) for scheme in SCHEMES]


def _fig6_claims(rows: Sequence[Row]) -> list[Claim]:
    m = {scheme: the(rows, "migration", scheme=scheme, workers=32) for scheme in SCHEMES}
    b = {scheme: the(rows, "imbalance", scheme=scheme, workers=32) for scheme in SCHEMES}
    redist = [float(row["migration"]) for row in where(rows, scheme="redist")][8:]
    best = [
        min(PLANNERS, key=lambda s: the(rows, "imbalance", scheme=s, workers=workers))
        for workers in range(2, 21)
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
    ]


FIGURES = (
    Figure(
        "3", "Resource functions", _fig3_cells, _fig3_claims,
        lambda rows: curves(rows, "Fig 3: resource functions, as N grows", "workers", "N"), CHOICES,
        DRAWS,
    ),
    Figure(
        "4", "Skew", _fig4_cells, _fig4_claims,
        lambda rows: curves(at_ten(rows), "Fig 4: skew", "exponent", "z"), CHOICES,
        DRAWS,
    ),
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
