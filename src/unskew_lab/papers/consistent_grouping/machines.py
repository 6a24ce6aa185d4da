"""Figures 7, 8, 10 and 11: machines with queues."""

from __future__ import annotations

from collections.abc import Sequence

from unskew.partitioners import ConsistentGrouping, KeyGrouping, Partitioner, ShuffleGrouping
from unskew.simulator.cluster import Cluster
from unskew.workloads import Stream
from unskew_lab.papers.cells import Queued, Settled
from unskew_lab.papers.plot import Panel, Plot
from unskew_lab.papers.reading import (
    at_the_end,
    by_stream,
    distinct,
    growing,
    lines,
    numbers,
    tail,
    the,
    where,
)
from unskew_lab.papers.specification import Claim, Figure, Row, Setting
from unskew_lab.papers.streams import named_reals, size, wikipedia

WORKERS = 10
LEVEL = 0.1
"""A spread of utilisation that we call level: the width of the band from idle to busy."""

CHOICES = (
    "Slots of 60 s, 25 rows a second and worker on average, 80 % load, busy above 0.85 and idle "
    "below 0.75 of the capacity (recovered from the authors' simulator). Rows come at regular "
    "intervals, and each is a unit of work. A Zipf stream with WP's p₁ stands in for WP; real "
    "streams are repeated until they are long enough. `At the end` is the median of the last "
    "tenth of the run. Sec. V-A's probing is on unless said otherwise."
)

BURSTS = (
    "where keys come in bursts a single slot is noisy, although virtual workers are shared out "
    "rightly: see the last tenth as a whole in figure 8"
)


def _streams(setting: Setting, messages: int) -> list[tuple[str, Stream]]:
    """The stand-in for WP, and the real ones."""
    return [("WP-like", wikipedia(setting, messages)), *named_reals(setting, messages)]


def _cg(virtual: int, probing: bool = True) -> ConsistentGrouping:
    return ConsistentGrouping(WORKERS, virtual=virtual, probing=probing)


def _timelines(rows: Sequence[Row], title: str) -> Plot:
    panels = [
        Panel(
            f"{name}: {label}",
            "hours",
            f"{unit}, max − min",
            lines(part, "hours", column, points=False),
        )
        for name, part in by_stream(rows)
        for column, label, unit in (
            ("queue_spread", "queue length", "rows"),
            ("latency_spread", "latency", "seconds"),
            ("utilisation_spread", "utilisation", "utilisation"),
        )
    ]
    return Plot(f"Consistent Grouping, {title}", panels)


def _ends(rows: Sequence[Row], column: str) -> dict[str, float]:
    """What a column ends at, by scheme."""
    return {
        str(scheme): at_the_end(where(rows, scheme=scheme), column)
        for scheme in distinct(rows, "scheme")
    }


def _fig7_cells(setting: Setting) -> list[Queued]:
    cluster = Cluster.equal(WORKERS)
    messages = size(setting, quick=1_000_000)
    return [
        Queued(name, stream, label, partitioner, cluster)
        for name, stream in _streams(setting, messages)
        for label, partitioner in (("KG", KeyGrouping(WORKERS)), ("CG", _cg(10)))
    ]


def _fig7_claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for name, here in by_stream(rows):
        ends, waits, uses = (
            _ends(here, column)
            for column in ("queue_spread", "latency_spread", "utilisation_spread")
        )
        overloaded = growing(where(here, scheme="KG"), "queue_spread")
        claims.append(
            Claim(
                f"{name}: on equal machines queue and latency spread grow with KG, CG's are near 0",
                "KG grows, CG ≈ 0",
                f"at the end: queue KG {ends['KG']:,.0f}, CG {ends['CG']:,.0f} rows; latency KG "
                f"{waits['KG']:,.1f}, CG {waits['CG']:.2f} s; utilisation KG {uses['KG']:.2f}, "
                f"CG {uses['CG']:.2f}",
                overloaded and ends["CG"] < 0.01 * ends["KG"] and uses["CG"] < LEVEL,
                "" if overloaded else "no worker of KG is above its capacity on this stream",
            )
        )
    return claims


FIG7 = Figure(
    "7",
    "Ten equal machines at 80 %",
    _fig7_cells,
    _fig7_claims,
    lambda rows: _timelines(rows, "Fig 7: equal machines"),
    CHOICES,
)


def _rivals() -> dict[str, Partitioner]:
    return {
        "KG": KeyGrouping(WORKERS),
        "SG": ShuffleGrouping(WORKERS),
        "CG": _cg(10),
        "CG 100 VW": _cg(100),
        "CG 100 VW, pairs only": _cg(100, probing=False),
    }


def _fig8_cells(setting: Setting) -> list[Queued | Settled]:
    cluster = Cluster.parse("3x5", WORKERS)
    messages = size(setting, quick=3_000_000)
    every = named_reals(setting, messages, most=None)
    cells: list[Queued | Settled] = []
    for name, stream in (("WP-like", wikipedia(setting, messages)), *every):
        runs = {
            label: Queued(name, stream, label, partitioner, cluster)
            for label, partitioner in _rivals().items()
        }
        cells += [*runs.values(), Settled(runs["CG 100 VW"])]
    return cells


def _fig8_claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for name, here in by_stream(rows):
        settled = the(rows, "spread", settled=name)
        claims += [_growth(here, name), *_levels(here, name, settled)]
    return claims


def _growth(rows: Sequence[Row], name: str) -> Claim:
    ends = _ends(rows, "queue_max")
    compared = ("KG", "SG", "CG", "CG 100 VW")
    grow = [growing(where(rows, scheme=s), "queue_max") for s in compared]
    return Claim(
        f"{name}: 3 of 10 machines 5 times as fast: queues grow with KG and SG, not with CG",
        "KG, SG grow; CG low",
        "longest queue at the end: " + ", ".join(f"{s} {ends[s]:,.0f}" for s in compared),
        grow == [True, True, False, False],
    )


def _levels(rows: Sequence[Row], name: str, settled: float) -> list[Claim]:
    """`settled` is the spread over the last tenth of the run as a whole."""
    spread, imbalance = _ends(rows, "utilisation_spread"), _ends(rows, "imbalance")
    return [
        Claim(
            f"{name}: CG's imbalance of utilisation goes to 0 (10 virtual workers)",
            "≈ 0",
            f"{imbalance['CG']:.2f} (KG {imbalance['KG']:.2f}, SG {imbalance['SG']:.2f})",
            imbalance["CG"] <= LEVEL,
            f"10 are too coarse to be level: one is 0.18 of a slow machine; spread "
            f"{spread['CG']:.2f}",
        ),
        Claim(
            f"{name}: with 100 virtual workers the utilisations are level, over the last tenth",
            f"spread ≤ {LEVEL}",
            f"{settled:.3f}",
            settled <= LEVEL,
        ),
        Claim(
            f"{name}: so they are in every slot of it, in the median",
            f"spread ≤ {LEVEL}",
            f"{spread['CG 100 VW']:.3f} (10 virtual workers: {spread['CG']:.3f})",
            spread["CG 100 VW"] <= LEVEL,
            "" if spread["CG 100 VW"] <= LEVEL else BURSTS,
        ),
        Claim(
            f"{name}: so they are with pairs of busy and idle alone",
            f"spread ≤ {LEVEL}",
            f"{spread['CG 100 VW, pairs only']:.3f}",
            spread["CG 100 VW, pairs only"] <= LEVEL,
            "pairing stops as soon as nobody is below 0.75, however busy the others are; "
            "probing (Sec. V-A) goes on",
        ),
    ]


FIG8 = Figure(
    "8",
    "Three of ten machines five times as fast",
    _fig8_cells,
    _fig8_claims,
    lambda rows: _timelines(rows, "Fig 8: three of ten machines five times as fast"),
    CHOICES,
)


def _fig10_cells(setting: Setting) -> list[Queued]:
    cluster = Cluster.parse("3x5", WORKERS)
    messages = size(setting, quick=3_000_000)
    return [
        Queued(name, stream, f"{virtual} VW", _cg(virtual), cluster)
        for name, stream in _streams(setting, messages)[: 1 if setting.quick else None]
        for virtual in (5, 10, 20, 50, 100, 1000)
    ]


def _fig10_claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for name, here in by_stream(rows):
        spread, backlog = _ends(here, "utilisation_spread"), _ends(here, "queue_max")
        text = ", ".join(f"{label} {value:.2f}" for label, value in spread.items())
        queues = ", ".join(f"{label} {value:,.0f}" for label, value in backlog.items())
        claims += [
            Claim(
                f"{name}: 5 virtual workers are too few",
                "not level",
                f"spread of utilisation at the end: {text}",
                spread["5 VW"] > LEVEL,
            ),
            Claim(
                f"{name}: 1000 converge too slowly",
                "impacts performance",
                f"longest queue at the end: {queues}",
                backlog["1000 VW"] == max(backlog.values()),
            ),
            Claim(
                f"{name}: 100 are best",
                "best",
                f"spread of utilisation at the end: {text}; longest queue: {queues}",
                spread["100 VW"] == min(spread.values()),
                "judged by the spread at the end. From 20 on they differ by little more than the "
                "noise of a slot, and fewer converge sooner: one moves per machine and slot",
            ),
        ]
    return claims


FIG10 = Figure(
    "10",
    "Five to a thousand virtual workers per machine",
    _fig10_cells,
    _fig10_claims,
    lambda rows: _timelines(rows, "Fig 10: virtual workers per machine"),
    CHOICES,
)


def _fig11_cells(setting: Setting) -> list[Queued]:
    messages = size(setting, quick=9_000_000, full=18_000_000)
    third = messages // 3
    cluster = Cluster.parse(f"3x5; 5x4@{third}; 2x10@{2 * third}", WORKERS)
    return [
        Queued(name, stream, label, partitioner, cluster)
        for name, stream in _streams(setting, messages)
        for label, partitioner in _rivals().items()
        if label in ("KG", "SG", "CG 100 VW")
    ]


def _fig11_claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for name, here in by_stream(rows):
        parts = {str(s): where(here, scheme=s) for s in distinct(here, "scheme")}
        ends = {s: _ends_of_phases(part) for s, part in parts.items()}
        queues = _ends(here, "queue_max")
        adapted = ends["CG 100 VW"]
        claims += [
            Claim(
                f"{name}: CG adapts to each change of the machines",
                "yes",
                "spread of utilisation at the end of each third: "
                + ", ".join(f"{value:.2f}" for value in adapted),
                max(adapted) <= LEVEL,
                "" if max(adapted) <= LEVEL else BURSTS,
            ),
            Claim(
                f"{name}: KG and SG do not",
                "queues grow",
                f"spread KG {_three(ends['KG'])}, SG {_three(ends['SG'])}; longest queue at the "
                f"end KG {queues['KG']:,.0f}, SG {queues['SG']:,.0f}",
                min(*ends["KG"], *ends["SG"]) > LEVEL
                and all(growing(parts[s], "queue_max") for s in ("KG", "SG")),
            ),
            *_queues_of_cg(parts["CG 100 VW"], name, min(queues["KG"], queues["SG"])),
        ]
    return claims


def _queues_of_cg(rows: Sequence[Row], name: str, others: float) -> list[Claim]:
    end, peak = at_the_end(rows, "queue_max"), max(numbers(rows, "queue_max"))
    last = tail(rows, "queue_max")
    return [
        Claim(
            f"{name}: CG's queues stay low all the while",
            "low",
            f"longest at the end {end:,.0f}, at the peak {peak:,.0f}, of the others {others:,.0f}",
            peak < 0.1 * others,
            "a machine that turns slow keeps its virtual workers until it has given them away, "
            "one a slot; what queued meanwhile drains at the spare 20 %",
        ),
        Claim(
            f"{name}: CG's queues are bounded: at the end they shrink",
            "adapts",
            f"{last[0]:,.0f} → {last[-1]:,.0f} in the last tenth of the run",
            last[-1] <= max(last[0], 100),
        ),
    ]


def _ends_of_phases(rows: Sequence[Row]) -> list[float]:
    """The spread of utilisation at the end of each third of a run."""
    messages = numbers(rows, "messages")[-1]
    thirds: list[list[Row]] = [[], [], []]
    for row in rows:
        thirds[min(2, int(3 * float(row["messages"]) / (messages + 1)))].append(row)
    return [at_the_end(third, "utilisation_spread") for third in thirds]


def _three(values: Sequence[float]) -> str:
    return "/".join(f"{value:.2f}" for value in values)


FIG11 = Figure(
    "11",
    "Machines that change their speed twice",
    _fig11_cells,
    _fig11_claims,
    lambda rows: _timelines(rows, "Fig 11: speeds change after each third of the stream"),
    CHOICES,
)

FIGURES = (FIG7, FIG8, FIG10, FIG11)
