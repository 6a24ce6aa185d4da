"""Tables 1 and 2: the data sets, and key splitting beside the greedy schemes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from unskew.partitioners import (
    KeyGrouping,
    OfflineGreedy,
    OnlineGreedy,
    PartialKey,
    Partitioner,
    StaticTwoChoices,
)
from unskew.sketches.key_counts import KeyCounts
from unskew.workloads import Stream
from unskew_lab.papers.cells import Routed, real
from unskew_lab.papers.judging import DRAWS
from unskew_lab.papers.partial_key_grouping.estimation import level
from unskew_lab.papers.plot import Plot
from unskew_lab.papers.reading import (
    distinct,
    each_stream,
    numbers,
    panels_per_stream,
    the,
    where,
)
from unskew_lab.papers.specification import Claim, Figure, Row, Setting
from unskew_lab.papers.streams import lognormal, on_reals, size, twitter, wikipedia

WORKERS = (5, 10, 50, 100)
WP, TW = "WP-like", "TW-like"


class DataSet(NamedTuple):
    """A row of the paper's table 1."""

    keys: int
    top: float
    """Share of the hottest key, in percent."""


TABLE_1 = {"LN1": DataSet(16_000, 14.71), "LN2": DataSet(1_100, 7.01)}


@dataclass(frozen=True, slots=True)
class Counted:
    """The number of keys of a stream, and the share of the hottest."""

    name: str
    stream: Stream

    def measure(self) -> Sequence[Row]:
        """One row."""
        counts = KeyCounts.of(self.stream.chunks()).counts
        messages = int(counts.sum())
        return [
            {
                "stream": self.name,
                "messages": messages,
                "keys": counts.size,
                "top_percent": 100 * int(counts[0]) / messages,
            }
        ]


def _table1_cells(setting: Setting) -> list[Counted]:
    return [Counted(f"LN{number}", lognormal(setting, number)) for number in (1, 2)]


def _table1_claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for name, known in TABLE_1.items():
        keys, top = the(rows, "keys", stream=name), the(rows, "top_percent", stream=name)
        claims.append(
            Claim(
                f"{name} has so many keys, and so hot a hottest one",
                f"{known.keys / 1000:g}k keys, p₁ = {known.top} %",
                f"{keys:,.0f} keys, p₁ = {top:.2f} %",
                abs(keys / known.keys - 1) < 0.05 and abs(top - known.top) < 0.1,
                value=top,
            )
        )
    return claims


TABLE1 = Figure("table-1", "Data sets", _table1_cells, _table1_claims, draws=DRAWS)

SLASHDOT = "slashdot0902_edges"


def _slashdot_cells(setting: Setting) -> list[Counted]:
    return [Counted(SLASHDOT, real(path)) for path in setting.streams() if path.stem == SLASHDOT]


def _slashdot_claims(rows: Sequence[Row]) -> list[Claim]:
    if not rows:
        return []
    keys, messages, top = (float(rows[0][name]) for name in ("keys", "messages", "top_percent"))
    return [
        Claim(
            "Slashdot0902 has 948k messages, 82k keys and a p₁ of 3.11 %",
            "948k, 82k, 3.11 %",
            f"{messages:,.0f}, {keys:,.0f}, {top:.2f} % of the messages",
            abs(top - 3.11) < 0.1 and round(messages / 1e3) == 948 and round(keys / 1e3) == 82,
            f"the paper seems to divide by the keys: {top * messages / keys:.2f} %",
            value=top,
        )
    ]


TABLE1_SLASHDOT = Figure(
    "table-1-slashdot", "A public data set", _slashdot_cells, _slashdot_claims,
    choices="Needs `--data` with Slashdot0902, which is public (SL₂).",
)  # fmt: skip


def _contenders(workers: int) -> dict[str, Partitioner]:
    return {
        "PKG": PartialKey(workers, distinct=False),
        "Off-Greedy": OfflineGreedy(workers),
        "On-Greedy": OnlineGreedy(workers),
        "PoTC": StaticTwoChoices(workers, distinct=False),
        "Hashing": KeyGrouping(workers),
    }


def _table2_on(setting: Setting, name: str, stream: Stream) -> list[Routed]:
    return [
        level(name, stream, scheme, partitioner)
        for workers in WORKERS
        for scheme, partitioner in _contenders(workers).items()
    ]


def _table2_cells(setting: Setting) -> list[Routed]:
    return [
        *_table2_on(setting, WP, wikipedia(setting, rows := size(setting, quick=500_000))),
        *_table2_on(setting, TW, twitter(setting, rows)),
    ]


PAPERS_PKG = {
    WP: "3.7e-8, 1.3e-7, 2.7e-2, 3.7e-2",
    TW: "3.4e-10, 1.4e-9, 2.3e-9, 3.4e-3",
}
PAPERS_KG = {
    WP: "6.4e-2, 7.8e-2, 9.2e-2, 9.2e-2",
    TW: "3.5e-2, 3.2e-2, 2.0e-2, 2.8e-2",
}
LIMITS = {WP: 50, TW: 100}
"""The number of workers from which on two choices do not level the stream, as the paper finds."""
FEW = 10
"""Rows that make no difference: the paper's own PKG and Off-Greedy are 1 to 3 rows apart."""


def _table2_of(name: str, here: Sequence[Row]) -> list[Claim]:
    found = {
        str(scheme): numbers(where(here, scheme=scheme), "imbalance")
        for scheme in distinct(here, "scheme")
    }
    few = FEW / numbers(here, "messages")[0]
    pkg, off, on, potc, kg = (
        found[s] for s in ("PKG", "Off-Greedy", "On-Greedy", "PoTC", "Hashing")
    )
    above = [a - min(others) for a, *others in zip(pkg, off, on, potc, kg, strict=True)]
    below = [a - max(others) for a, *others in zip(kg, pkg, off, on, potc, strict=True)]
    apart = [abs(a - b) for a, b in zip(on, off, strict=True)]
    claims = [
        Claim(
            "PKG is the most level at 5, 10, 50 and 100 workers, to a few rows",
            PAPERS_PKG.get(name, "always"),
            f"{_four(pkg)} (Off-Greedy {_four(off)})",
            max(above) <= few,
            "Off-Greedy knows all counts beforehand",
            value=max(above),
        ),
        Claim(
            "hashing is the least level, also beside PoTC",
            PAPERS_KG.get(name, "always"),
            f"{_four(kg)} (PoTC {_four(potc)})",
            min(below) >= -few,
            value=min(below),
        ),
        Claim(
            "On-Greedy is very close to Off-Greedy",
            "at most 6.4e-3 apart",
            f"{_four(on)} and {_four(off)}",
            max(apart) <= 0.01,
            value=max(apart),
        ),
    ]
    if name not in LIMITS:
        return claims
    fine = [n for n, each in zip(WORKERS, pkg, strict=True) if each < 1e-3]
    claims.append(
        Claim(
            f"PKG is level below {LIMITS[name]} workers and not from there on",
            f"p₁ ≈ 2/n at {LIMITS[name]}",
            f"level with {', '.join(map(str, fine))}: {_four(pkg)}",
            fine == [n for n in WORKERS if n < LIMITS[name]],
            value=pkg[WORKERS.index(LIMITS[name])],
        )
    )
    if name == TW:
        ahead = [a - b for a, b in zip(potc, on, strict=True)]
        claims.append(
            Claim(
                "PoTC is outclassed by On-Greedy",
                "1.9e-5, 4.3e-6, 1.2e-2, 1.7e-2 against 7.2e-9, 7.9e-8, 1.0e-2, 1.7e-2",
                f"{_four(potc)} against {_four(on)}",
                min(ahead) >= -few and sum(a > 2 * b for a, b in zip(potc, on, strict=True)) >= 2,
                "On-Greedy places a key when it first appears, when nothing is known of it: which "
                "of the two is ahead is luck of the draw",
                value=min(ahead),
            )
        )
    return claims


def _four(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.1e}" for value in values)


def _table2_plot(rows: Sequence[Row]) -> Plot:
    y = ("imbalance", "imbalance / messages")
    panels = panels_per_stream(rows, "workers", "workers", y, log_x=True, floor=1e-8)
    return Plot("Partial Key Grouping, Table 2: imbalance at the end of the stream", panels)


TABLE2 = Figure(
    "table-2",
    "Key splitting beside the greedy schemes",
    _table2_cells,
    lambda rows: each_stream(rows, _table2_of),
    _table2_plot,
    choices="WP and TW are not public: Zipf streams with their p₁ (9.32 %, 2.67 %) stand in, "
    "with 1M keys and 10M messages (quick: 100k and 500k). Less than ten rows count as equal.",
    draws=DRAWS,
    real=on_reals(_table2_on),
)


FIGURES = (TABLE1, TABLE1_SLASHDOT, TABLE2)
