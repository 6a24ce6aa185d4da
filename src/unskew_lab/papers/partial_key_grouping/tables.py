"""Tables 1 and 2, and the bounds of section 5."""

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
from unskew.workloads import Stream, ZipfStream
from unskew_lab.papers.cells import Routed
from unskew_lab.papers.plot import Plot
from unskew_lab.papers.reading import (
    by_stream,
    distinct,
    numbers,
    panels_per_stream,
    rising,
    the,
    where,
)
from unskew_lab.papers.specification import Claim, Figure, Row, Setting
from unskew_lab.papers.streams import lognormal, named_reals, size, twitter, wikipedia

WORKERS = (5, 10, 50, 100)


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
    generated = [Counted(f"LN{number}", lognormal(setting, number)) for number in (1, 2)]
    return [*generated, *(Counted(name, stream) for name, stream in named_reals(setting))]


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
            )
        )
    if graph := where(rows, stream="slashdot0902_edges"):
        keys, messages = float(graph[0]["keys"]), float(graph[0]["messages"])
        top = float(graph[0]["top_percent"])
        claims.append(
            Claim(
                "Slashdot0902 has 948k messages, 82k keys and a p₁ of 3.11 %",
                "948k, 82k, 3.11 %",
                f"{messages:,.0f}, {keys:,.0f}, {top:.2f} % of the messages",
                abs(top - 3.11) < 0.1,
                f"the paper seems to divide by the keys: {top * messages / keys:.2f} %",
            )
        )
    return claims


TABLE1 = Figure("table-1", "Data sets", _table1_cells, _table1_claims)


def _contenders(workers: int) -> dict[str, Partitioner]:
    return {
        "PKG": PartialKey(workers),
        "Off-Greedy": OfflineGreedy(workers),
        "On-Greedy": OnlineGreedy(workers),
        "PoTC": StaticTwoChoices(workers),
        "Hashing": KeyGrouping(workers),
    }


def _table2_cells(setting: Setting) -> list[Routed]:
    stand_ins = (("WP-like", wikipedia(setting)), ("TW-like", twitter(setting)))
    return [
        Routed(name, stream, scheme, partitioner)
        for name, stream in (*stand_ins, *named_reals(setting))
        for workers in WORKERS
        for scheme, partitioner in _contenders(workers).items()
    ]


PAPERS_PKG = {
    "WP-like": "3.7e-8, 1.3e-7, 2.7e-2, 3.7e-2",
    "TW-like": "3.4e-10, 1.4e-9, 2.3e-9, 3.4e-3",
}
PAPERS_KG = {
    "WP-like": "6.4e-2, 7.8e-2, 9.2e-2, 9.2e-2",
    "TW-like": "3.5e-2, 3.2e-2, 2.0e-2, 2.8e-2",
}


def _table2_claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for name, here in by_stream(rows):
        found = {
            str(scheme): numbers(where(here, scheme=scheme), "imbalance")
            for scheme in distinct(here, "scheme")
        }
        row = numbers(here, "messages")[0]
        others = [found[scheme] for scheme in ("Off-Greedy", "On-Greedy", "PoTC", "Hashing")]
        best = [
            found["PKG"][i] <= min(other[i] for other in others) + 2 / row
            for i in range(len(WORKERS))
        ]
        worst = [
            found["Hashing"][i] >= max(other[i] for other in found.values()) - 2 / row
            for i in range(len(WORKERS))
        ]
        claims += [
            Claim(
                f"{name}: PKG is the most level at 5, 10, 50 and 100 workers",
                PAPERS_PKG.get(name, "always"),
                f"{_four(found['PKG'])} (Off-Greedy {_four(found['Off-Greedy'])})",
                all(best),
                "" if all(best) else _unsplit(name, best),
            ),
            Claim(
                f"{name}: hashing is the least level",
                PAPERS_KG.get(name, "always"),
                f"{_four(found['Hashing'])} (PoTC {_four(found['PoTC'])}, "
                f"On-Greedy {_four(found['On-Greedy'])})",
                all(worst),
            ),
        ]
    return claims


def _four(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.1e}" for value in values)


def _unsplit(name: str, best: Sequence[bool]) -> str:
    lost = ", ".join(str(n) for n, won in zip(WORKERS, best, strict=True) if not won)
    return (
        f"not at {lost} workers: Off-Greedy knows all counts beforehand, and a few rows of the "
        f"{name} stream separate the two there"
    )


def _table2_plot(rows: Sequence[Row]) -> Plot:
    y = ("imbalance", "imbalance / messages")
    panels = panels_per_stream(rows, "workers", "workers", y, log_x=True, floor=1e-8)
    return Plot("Partial Key Grouping, Table 2: imbalance at the end of the stream", panels)


TABLE2 = Figure(
    "table-2",
    "Key splitting beside the greedy schemes",
    _table2_cells,
    _table2_claims,
    _table2_plot,
    choices="WP and TW are not public: Zipf streams with their p₁ (9.32 %, 2.67 %) stand in, "
    "with 1M keys and 10M messages (quick: 100k and 1M). Less than two rows count as equal.",
)


@dataclass(frozen=True, slots=True)
class UniformKeys:
    """PKG with d choices on equally frequent keys, five per worker."""

    choices: int
    workers: int
    seed: int

    def measure(self) -> Sequence[Row]:
        """One row."""
        messages = max(100_000, self.workers**2)
        stream = ZipfStream(0.0, 5 * self.workers, messages, self.seed)
        scheme = PartialKey(self.workers, choices=self.choices)
        routed = Routed("uniform over 5n keys", stream, f"d={self.choices}", scheme)
        return [{"part": "upper", **row} for row in routed.measure()]


@dataclass(frozen=True, slots=True)
class Overloaded:
    """PKG where the hottest key alone is more than its two workers' share."""

    name: str
    stream: Stream
    workers: int

    def measure(self) -> Sequence[Row]:
        """One row with the lower bound (p₁/2 − 1/n), or none if it does not apply."""
        counts = KeyCounts.of(self.stream.chunks()).counts
        top = int(counts[0]) / int(counts.sum())
        if top <= 2 / self.workers:
            return []
        routed = Routed(self.name, self.stream, "PKG", PartialKey(self.workers))
        bound = top / 2 - 1 / self.workers
        return [{"part": "lower", "bound": bound, **row} for row in routed.measure()]


def _section5_cells(setting: Setting) -> list[UniformKeys | Overloaded]:
    sizes = (10, 100, 1000) if setting.quick else (10, 100, 1000, 3000)
    zipf = [
        (f"z={z}", ZipfStream(z, 100_000, size(setting), setting.seed)) for z in (1.0, 1.4, 2.0)
    ]
    return [
        *(UniformKeys(d, n, setting.seed) for d in (1, 2) for n in sizes),
        *(
            Overloaded(name, stream, n)
            for name, stream in (*zipf, *named_reals(setting))
            for n in (10, 50, 100)
        ),
    ]


def _section5_claims(rows: Sequence[Row]) -> list[Claim]:
    lower = where(rows, part="lower")
    margin = min(float(row["imbalance"]) - float(row["bound"]) for row in lower)
    one, two = (numbers(where(rows, part="upper", scheme=f"d={d}"), "above_mean") for d in (1, 2))
    return [
        Claim(
            "if p₁ > 2/n the imbalance is at least (p₁/2 − 1/n)·m",
            "≥",
            f"{len(lower)} runs, at least {margin:+.1e}·m from it",
            margin >= -1e-12,
        ),
        Claim(
            "if p₁ ≤ 1/(5n) it is O(m/n) with two choices, and grows with n with one",
            "d=2 constant, d=1 like ln n / ln ln n",
            f"in units of m/n over n: d=2 {_short(two)}; d=1 {_short(one)}",
            max(two) < 2 and rising(one) and one[-1] > 1.2 * one[0],
        ),
    ]


def _short(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


SECTION5 = Figure("section-5", "Bounds of the analysis", _section5_cells, _section5_claims)

FIGURES = (TABLE1, TABLE2, SECTION5)
