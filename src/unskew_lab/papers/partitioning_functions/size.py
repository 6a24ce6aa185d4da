"""Figures 9 to 11: how many keys the lossy counter holds and how many are mapped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unskew.rebalancing import KeyStatistics
from unskew.rebalancing.hash_pair import tracked
from unskew.sketches.lossy_counting import LossyCounting
from unskew.workloads import ZipfStream, zipf_probabilities
from unskew_lab.papers.judging import DRAWS
from unskew_lab.papers.partitioning_functions.growth import resources_named
from unskew_lab.papers.plot import Panel, Plot
from unskew_lab.papers.reading import lines, near, numbers, spread_of, the, where
from unskew_lab.papers.specification import Claim, Figure, Row, Setting

DOMAIN = 1_000_000
SIGMAS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
EXPONENTS = (0.1, 0.3, 0.5, 0.7, 0.9, 1.0)
QUADRATIC_EXPONENTS = (0.1, 0.2, 0.25, 0.3, 0.4, 0.5)
SKEWS = {"LCL": EXPONENTS, "LQL": QUADRATIC_EXPONENTS}
WORKERS = (2, 5, 10, 20, 30)

CHOICES = (
    "One lossy counter with ε a tenth of the threshold δ, at its fullest, over a stream as long as "
    "the domain or twice that; for LQL the δ that is known before anything is counted. Mappings "
    "are the keys above the final δ."
)


@dataclass(frozen=True, slots=True)
class Sized:
    """How many keys the lossy counter holds and how many the table would."""

    letters: str
    messages: int
    sigma: float = 0.1
    exponent: float = 1.0
    workers: int = 10
    seed: int = 42

    def measure(self) -> Sequence[Row]:
        """One row."""
        resources = resources_named(self.letters)
        first = resources.first_threshold(DOMAIN, self.sigma, self.workers)
        sketch, most = LossyCounting(0.1 * first), 0
        for chunk in ZipfStream(self.exponent, DOMAIN, self.messages, self.seed).chunks():
            # The counter is fullest just before a window closes, so it is looked at in between.
            for piece in np.array_split(chunk, max(1, 3 * chunk.size // sketch.width)):
                sketch.add(piece)
                most = max(most, sketch.entries)
        frequency = zipf_probabilities(self.exponent, DOMAIN)
        keys = KeyStatistics.of(np.arange(DOMAIN), frequency)
        return [
            {
                "resources": self.letters,
                "sigma": self.sigma,
                "exponent": self.exponent,
                "workers": self.workers,
                "counted": most,
                "mapped": int(tracked(keys, resources, self.sigma, self.workers).size),
            }
        ]


def _messages(setting: Setting) -> int:
    return DOMAIN if setting.quick else 2 * DOMAIN


def _fig9_cells(setting: Setting) -> list[Sized]:
    return [
        Sized(letters, _messages(setting), sigma=sigma, seed=setting.seed)
        for letters in ("LCL", "LLL", "LQL")
        for sigma in SIGMAS
    ]


def _fig9_claims(rows: Sequence[Row]) -> list[Claim]:
    counted = {name: the(rows, "counted", resources=name, sigma=0.1) for name in ("LCL", "LQL")}
    mapped = {
        name: the(rows, "mapped", resources=name, sigma=0.1) for name in ("LCL", "LLL", "LQL")
    }
    by_sigma = numbers(where(rows, resources="LCL"), "counted")
    return [
        Claim(
            "σ=0.1: the lossy counter holds about 2,500 keys",
            "2,500",
            f"{counted['LCL']:,.0f}",
            near(counted["LCL"], 2500, 1.5),
            value=counted["LCL"],
        ),
        Claim(
            "σ=0.1, LQL: about 50,000",
            "50,000",
            f"{counted['LQL']:,.0f}",
            near(counted["LQL"], 50_000, 1.5),
            "the paper does not say how long its streams are; the counter grows with them",
            value=counted["LQL"],
        ),
        Claim(
            "σ=0.1: about 50 mappings, the same for all resource functions",
            "50",
            ", ".join(f"{name} {value:.0f}" for name, value in mapped.items()),
            all(near(value, 50, 1.5) for value in mapped.values())
            and len(set(mapped.values())) == 1,
            value=mapped["LCL"],
        ),
        Claim(
            "a smaller σ counts more keys",
            "grows",
            f"{by_sigma[0]:,.0f} at σ=0.02, {by_sigma[-1]:,.0f} at 1",
            by_sigma[0] > 2 * by_sigma[-1],
            value=by_sigma[0] / by_sigma[-1],
        ),
    ]


def _fig10_cells(setting: Setting) -> list[Sized]:
    return [
        Sized(letters, _messages(setting), exponent=exponent, seed=setting.seed)
        for letters, exponents in SKEWS.items()
        for exponent in exponents
    ]


def _super_linear(rows: Sequence[Row], letters: str) -> tuple[str, bool, float]:
    """The mappings over the skew: as text, whether four times as many at twice z, and the last."""
    exponents = SKEWS[letters]
    mapped = [the(rows, "mapped", resources=letters, exponent=z) for z in exponents]
    half = mapped[exponents.index(exponents[-1] / 2)]
    told = ", ".join(f"{size:.0f}" for size in mapped)
    grows = mapped[-1] - mapped[-2] > 0 and mapped[-1] >= 4 * max(half, 1)
    return f"{told} for z={', '.join(map(str, exponents))}", grows, mapped[-1]


def _fig10_claims(rows: Sequence[Row]) -> list[Claim]:
    counted = numbers(where(rows, resources="LCL"), "counted")
    quadratic = numbers(where(rows, resources="LQL"), "counted")
    peak = max(quadratic)
    claims = [
        Claim(
            "skew hardly changes how many keys are counted",
            "mostly flat",
            spread_of(counted),
            max(counted) <= 2 * min(counted),
            value=max(counted) / min(counted),
        ),
        Claim(
            "LQL: the keys counted grow with skew at first, and then fall slightly",
            "up, then slightly down",
            ", ".join(f"{each:,.0f}" for each in quadratic)
            + f" for z={', '.join(map(str, QUADRATIC_EXPONENTS))}",
            quadratic[0] < peak and near(quadratic[-1], peak) and quadratic[-1] < peak,
            "at its fullest the counter has nearly all rows of a window of 238,000, and skew only "
            "makes fewer of them differ",
            value=quadratic[-1] / quadratic[0],
        ),
    ]
    for letters, about in (("LCL", ""), ("LQL", "LQL: ")):
        told, grows, last = _super_linear(rows, letters)
        claims.append(
            Claim(
                f"{about}the number of mappings grows ever faster with skew",
                "super-linear",
                told,
                grows,
                value=last,
            )
        )
    return claims


def _fig11_cells(setting: Setting) -> list[Sized]:
    return [
        Sized("LCL", _messages(setting), workers=workers, seed=setting.seed) for workers in WORKERS
    ]


def _fig11_claims(rows: Sequence[Row]) -> list[Claim]:
    found = []
    for column in ("counted", "mapped"):
        per_worker = [
            float(row[column]) / int(row["workers"]) for row in rows if int(row["workers"]) >= 5
        ]
        found.append(max(per_worker) / min(per_worker))
    return [
        Claim(
            "counted and mapped keys grow linearly with N",
            "linear",
            f"keys per worker differ by a factor of {found[0]:.2f} (counted) and {found[1]:.2f} "
            "(mapped) from N=5 to 30",
            max(found) < 2,
            value=max(found),
        )
    ]


def _sizes(rows: Sequence[Row], title: str, x: str, label: str, log: bool) -> Plot:
    panels = [
        Panel(name, label, "keys", lines(rows, x, column, "resources"), log_x=log, log_y=log)
        for column, name in (("counted", "lossy counter"), ("mapped", "explicit hash"))
    ]
    return Plot(f"Partitioning functions, {title}", panels, columns=2)


def _by_skew(rows: Sequence[Row]) -> Plot:
    panels = [
        Panel(f"{name}, {letters}", "z", "keys", lines(here, "exponent", column, "resources"))
        for letters in SKEWS
        if (here := where(rows, resources=letters))
        for column, name in (("counted", "lossy counter"), ("mapped", "explicit hash"))
    ]
    return Plot("Partitioning functions, Fig 10: size over skew", panels, columns=2)


FIGURES = (
    Figure(
        "9", "Size over σ", _fig9_cells, _fig9_claims,
        lambda rows: _sizes(rows, "Fig 9: size over σ", "sigma", "σ", True), CHOICES,
        DRAWS,
    ),
    Figure(
        "10", "Size over skew", _fig10_cells, _fig10_claims, _by_skew, CHOICES, DRAWS,
    ),
    Figure(
        "11", "Size over workers", _fig11_cells, _fig11_claims,
        lambda rows: _sizes(rows, "Fig 11: size over workers", "workers", "N", False), CHOICES,
        DRAWS,
    ),
)  # fmt: skip
