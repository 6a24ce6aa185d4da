"""Figures 7 and 9: how much skew two choices withstand, and what more choices change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unskew.partitioners import PartialKey
from unskew.workloads import Stream
from unskew_lab.papers.judging import DRAWS
from unskew_lab.papers.partial_key_grouping.estimation import level
from unskew_lab.papers.plot import Panel, Plot
from unskew_lab.papers.reading import distinct, lines, panels_per_stream, the, where
from unskew_lab.papers.specification import Claim, Figure, Row, Setting, Value
from unskew_lab.papers.streams import size, zipf

WORKERS = (5, 10, 50, 100)
STEP = 0.1
BROKEN = 0.01
"""An imbalance of 1 % of the messages: PKG is either far below it or far above."""


@dataclass(frozen=True, slots=True)
class Point:
    """PKG with some choices at one skew and number of keys."""

    exponent: float
    keys: int
    workers: int
    choices: int
    stream: Stream
    distinct: bool = False

    def measure(self) -> Sequence[Row]:
        """One row."""
        stream = self.stream
        scheme = PartialKey(self.workers, choices=self.choices, distinct=self.distinct)
        label = f"{self.workers} workers{', distinct' if self.distinct else ''}"
        (row,) = level(f"{self.keys:,} keys", stream, label, scheme).measure()
        return [{"z": self.exponent, "choices": self.choices, **row}]


def _fig7_cells(setting: Setting) -> list[Point]:
    tenths = range(5, 18) if setting.quick else range(1, 21)
    sizes = (1_000, 10_000, 100_000) if setting.quick else (1_000, 10_000, 100_000, 1_000_000)
    messages = size(setting, quick=300_000)
    return [
        Point(z := round(0.1 * tenth, 1), keys, n, 2, zipf(setting, z, keys, messages))
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
            max(skews) - min(skews) <= STEP + 1e-9,
            "below z = 1 the share of the hottest key, which decides, depends on the number of "
            "keys; above, hardly",
            value=max(skews) - min(skews),
        )
        for n, skews in at.items()
    ]
    middle = [z for skews in at.values() for z in skews]
    claims.append(
        Claim(
            "that skew is about 1.2",
            "z ≈ 1.2",
            "; ".join(f"{n} workers: {min(z):g} … {max(z):g}" for n, z in at.items()),
            all(abs(z - 1.2) <= 2 * STEP + 1e-9 for z in middle),
            "it moves with the workers, as Sec. 5 says: two choices end where p₁ exceeds 2/n",
            value=max(middle, key=lambda z: abs(z - 1.2)),
        )
    )
    return claims


def _fig7_plot(rows: Sequence[Row]) -> Plot:
    y = ("imbalance_average", "average imbalance / messages")
    panels = panels_per_stream(rows, "z", "skew z", y, floor=1e-8)
    return Plot("Partial Key Grouping, Fig 7: imbalance over skew", panels, columns=4, share_y=True)


FIG7 = Figure(
    "7",
    "How much skew two choices withstand",
    _fig7_cells,
    _fig7_claims,
    _fig7_plot,
    choices="Two choices have ended where the imbalance exceeds 1 % of the messages, in steps of "
    "z = 0.1.",
    draws=DRAWS,
)

LEVEL = BROKEN / 10
ENOUGH = {5: 4, 40: 9}
"""Workers -> choices that the paper finds enough at z = 1.2 and 1M keys."""


def _fig9_cells(setting: Setting) -> list[Point]:
    keys = 100_000 if setting.quick else 1_000_000
    stream = zipf(setting, 1.2, keys, size(setting, quick=500_000))
    return [
        *(
            Point(1.2, keys, n, choices, stream)
            for n in (5, 10, 40, 50, 100)
            for choices in (2, 3, 4, 5, 7, 9, 12, 16, 24, 32)
            if choices <= n
        ),
        *(Point(1.2, keys, n, choices, stream, distinct=True) for n, choices in ENOUGH.items()),
    ]


def _fig9_claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for n, paper in ENOUGH.items():
        here = where(rows, scheme=f"{n} workers")
        two, enough = (the(here, "imbalance", choices=d) for d in (2, paper))
        claims += [
            Claim(
                f"with {n} workers {paper} choices are enough at z = 1.2",
                f"d = {paper}",
                f"imbalance {enough:.1e}",
                enough < LEVEL,
                value=enough,
            ),
            Claim(
                f"with {n} workers 2 choices are not",
                "high imbalance",
                f"imbalance {two:.1e}",
                two > LEVEL,
                "p₁ is half of what two of five workers can take: two choices fail only where "
                "both hashes of a hot key coincide",
                value=two,
            ),
        ]
    most = {n: where(rows, scheme=f"{n} workers") for n in (50, 100)}
    nine, tens = ([the(here, "imbalance", choices=d) for here in most.values()] for d in (9, 32))
    apart = [the(rows, "imbalance", scheme=f"{n} workers, distinct") for n in ENOUGH]
    return [
        *claims,
        Claim(
            "50 and 100 workers are still unbalanced with 9, and not with a few tens",
            "high at 9, low with tens",
            f"d = 9: {nine[0]:.1e}, {nine[1]:.1e}; d = 32: {tens[0]:.1e}, {tens[1]:.1e}",
            min(nine) > LEVEL > max(tens),
            value=min(nine),
        ),
        Claim(
            "with distinct choices 4 and 9 are enough in every draw",
            "(independent hashes)",
            f"{apart[0]:.1e} (5 workers), {apart[1]:.1e} (40)",
            max(apart) < LEVEL,
            value=max(apart),
            added=True,
            always=True,
        ),
    ]


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


FIG9 = Figure("9", "More than two choices", _fig9_cells, _fig9_claims, _fig9_plot, draws=DRAWS)

FIGURES = (FIG7, FIG9)
