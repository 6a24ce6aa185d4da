"""Figures 7 and 9: how much skew two choices withstand, and what more choices change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unskew.partitioners import PartialKey
from unskew.workloads import ZipfStream, zipf_probabilities
from unskew_lab.papers.cells import Routed
from unskew_lab.papers.plot import Panel, Plot
from unskew_lab.papers.reading import distinct, lines, numbers, panels_per_stream, the, where
from unskew_lab.papers.specification import Claim, Figure, Row, Setting, Value
from unskew_lab.papers.streams import size

WORKERS = (5, 10, 50, 100)
BROKEN = 0.01
"""An imbalance of 1 % of the messages: PKG is either far below it or far above."""


@dataclass(frozen=True, slots=True)
class Point:
    """PKG with some choices at one skew and number of keys."""

    exponent: float
    keys: int
    workers: int
    choices: int
    messages: int
    seed: int

    def measure(self) -> Sequence[Row]:
        """One row."""
        stream = ZipfStream(self.exponent, self.keys, self.messages, self.seed)
        scheme = PartialKey(self.workers, choices=self.choices)
        label = f"{self.workers} workers"
        (row,) = Routed(f"{self.keys:,} keys", stream, label, scheme).measure()
        return [{"z": self.exponent, "choices": self.choices, **row}]


def _fig7_cells(setting: Setting) -> list[Point]:
    tenths = range(2, 21, 2) if setting.quick else range(1, 21)
    sizes = (1_000, 10_000, 100_000) if setting.quick else (1_000, 10_000, 100_000, 1_000_000)
    messages = size(setting, quick=500_000)
    return [
        Point(round(0.1 * tenth, 1), keys, n, 2, messages, setting.seed)
        for keys in sizes
        for n in WORKERS
        for tenth in tenths
    ]


def _breaks(rows: Sequence[Row], keys: Value, workers: int) -> float:
    """The first skew at which the load is no longer level."""
    for row in where(rows, stream=keys, workers=workers):
        if float(row["imbalance"]) > BROKEN:
            return float(row["z"])
    return float("inf")


def _fig7_claims(rows: Sequence[Row]) -> list[Claim]:
    at = {n: [_breaks(rows, keys, n) for keys in distinct(rows, "stream")] for n in WORKERS}
    keys = ", ".join(map(str, distinct(rows, "stream")))
    claims = [
        Claim(
            f"with {n} workers PKG breaks at the same skew whatever the number of keys",
            "yes",
            f"z = {', '.join(f'{z:g}' for z in skews)} for {keys}",
            max(skews) - min(skews) < 0.25,
            f"p₁ > 2/{n} from z = {_theory(n):.1f} on with 100k keys",
        )
        for n, skews in at.items()
    ]
    middle = [z for skews in at.values() for z in skews]
    claims.append(
        Claim(
            "that skew is about 1.2",
            "z ≈ 1.2",
            "; ".join(f"{n} workers: {min(z):g} … {max(z):g}" for n, z in at.items()),
            all(abs(z - 1.2) < 0.25 for z in middle),
            "it moves with the workers, as Sec. 5 says: two choices end where p₁ exceeds 2/n",
        )
    )
    return claims


def _theory(workers: int) -> float:
    """The skew from which the hottest of 100k keys has more than its two workers' share."""
    tenths = (tenth / 10 for tenth in range(1, 40))
    return next(z for z in tenths if zipf_probabilities(z, 100_000)[0] > 2 / workers)


def _fig7_plot(rows: Sequence[Row]) -> Plot:
    y = ("imbalance_average", "average imbalance / messages")
    panels = panels_per_stream(rows, "z", "skew z", y, floor=1e-8)
    return Plot("Partial Key Grouping, Fig 7: imbalance over skew", panels, columns=4, share_y=True)


FIG7 = Figure("7", "How much skew two choices withstand", _fig7_cells, _fig7_claims, _fig7_plot)

ENOUGH = {5: 4, 40: 9}
"""Workers -> choices that the paper finds enough at z = 1.2 and 1M keys."""


def _fig9_cells(setting: Setting) -> list[Point]:
    keys = 100_000 if setting.quick else 1_000_000
    return [
        Point(1.2, keys, n, choices, size(setting), setting.seed)
        for n in (5, 10, 40, 50, 100)
        for choices in (2, 3, 4, 5, 7, 9, 12, 16, 24, 32)
        if choices <= n
    ]


def _fig9_claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for n, paper in ENOUGH.items():
        here = where(rows, workers=n)
        found = next(
            (int(row["choices"]) for row in here if float(row["imbalance"]) < BROKEN / 10), None
        )
        claims.append(
            Claim(
                f"with {n} workers {paper} choices are enough at z = 1.2",
                f"d = {paper}",
                f"imbalance {the(here, 'imbalance', choices=paper):.1e} there; below "
                f"{BROKEN / 10:g} from d = {found} on",
                the(here, "imbalance", choices=paper) < BROKEN / 10,
            )
        )
    last = [numbers(where(rows, workers=n), "imbalance") for n in (50, 100)]
    claims.append(
        Claim(
            "50 and 100 workers need a few tens of choices",
            "high at 9, low with tens",
            "; ".join(f"{v[0]:.1e} → {v[-1]:.1e}" for v in last) + " for d = 2 → 32",
            all(v[-1] < BROKEN / 10 < v[0] for v in last),
        )
    )
    return claims


def _fig9_plot(rows: Sequence[Row]) -> Plot:
    panel = Panel(
        "z = 1.2",
        "choices d",
        "average imbalance / messages",
        lines(rows, "choices", "imbalance_average"),
        log_y=True,
        floor=1e-8,
    )
    return Plot("Partial Key Grouping, Fig 9: more choices", [panel], columns=1)


FIG9 = Figure("9", "More than two choices", _fig9_cells, _fig9_claims, _fig9_plot)

FIGURES = (FIG7, FIG9)
