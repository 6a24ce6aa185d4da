"""Figures 10 and 11: how many virtual workers, and machines that change their speed."""

from __future__ import annotations

from collections.abc import Sequence

from unskew.partitioners import KeyGrouping, Partitioner, ShuffleGrouping
from unskew.simulator.cluster import Cluster
from unskew.workloads import Stream
from unskew_lab.papers.cells import Queued
from unskew_lab.papers.consistent_grouping.machines import (
    CHOICES,
    LEVEL,
    LOW,
    OURS,
    WORKERS,
    ends,
    our_defaults,
    settled,
    timelines,
)
from unskew_lab.papers.consistent_grouping.schemes import WP, cg
from unskew_lab.papers.judging import DRAWS
from unskew_lab.papers.reading import (
    at_the_end,
    distinct,
    each_stream,
    growing,
    numbers,
    tail,
    where,
)
from unskew_lab.papers.specification import Claim, Figure, Row, Setting
from unskew_lab.papers.streams import on_reals, size, wikipedia

VIRTUAL = (5, 10, 20, 50, 100, 1000)


def _fig10_cells(setting: Setting) -> list[Queued]:
    stream = wikipedia(setting, size(setting, quick=4_000_000, full=22_000_000))
    cluster = Cluster.parse("3x5", WORKERS)
    return [Queued(WP, stream, f"{v} VW", cg(WORKERS, v), cluster) for v in VIRTUAL]


def _fig10_claims(rows: Sequence[Row]) -> list[Claim]:
    spread, backlog = settled(rows), ends(rows, "queue_max")
    text = ", ".join(f"{label} {value:.3f}" for label, value in spread.items())
    queues = ", ".join(f"{label} {value:,.0f}" for label, value in backlog.items())
    slots = ends(rows, "utilisation_spread")
    some = [f"{v} VW" for v in VIRTUAL if 10 <= v <= 100]
    best = min(spread[label] for label in some if label != "100 VW")
    return [
        Claim(
            "5 virtual workers are too few",
            "not the desired results",
            "spread of utilisation in the median slot at the end: "
            + ", ".join(f"{label} {value:.2f}" for label, value in slots.items()),
            slots["5 VW"] > max(LEVEL, *(slots[label] for label in some)),
            value=slots["5 VW"],
        ),
        Claim(
            "1000 take longer to converge, which shows in the queues",
            "impacts performance",
            f"longest queue at the end: {queues}",
            backlog["1000 VW"] > max(LOW, *(backlog[label] for label in some)),
            value=backlog["1000 VW"],
        ),
        Claim(
            "10 and 20 perform alike",
            "similar",
            f"queues {backlog['10 VW']:,.0f} and {backlog['20 VW']:,.0f} rows",
            max(backlog["10 VW"], backlog["20 VW"]) <= LOW,
            value=max(backlog["10 VW"], backlog["20 VW"]),
        ),
        Claim(
            "100 give the best results",
            "best",
            f"spread over the last tenth: {text}",
            spread["100 VW"] <= best,
            "by the spread of the utilisations, over the last tenth as a whole; by latency fewer "
            "are better, because one moves per machine and slot",
            value=spread["100 VW"] / best,
        ),
    ]


FIG10 = Figure(
    "10",
    "Five to a thousand virtual workers per machine",
    _fig10_cells,
    _fig10_claims,
    lambda rows: timelines(rows, "Fig 10: virtual workers per machine"),
    CHOICES,
    draws=DRAWS,
)


def _rows11(setting: Setting) -> int:
    return size(setting, quick=9_000_000, full=18_000_000)


def _fig11_on(setting: Setting, name: str, stream: Stream) -> list[Queued]:
    third = _rows11(setting) // 3
    cluster = Cluster.parse(f"3x5; 5x4@{third}; 2x10@{2 * third}", WORKERS)
    rivals: dict[str, Partitioner] = {
        "KG": KeyGrouping(WORKERS),
        "SG": ShuffleGrouping(WORKERS),
        "CG": cg(WORKERS, 100),
        OURS: our_defaults(),
    }
    return [Queued(name, stream, label, each, cluster) for label, each in rivals.items()]


def _fig11_of(name: str, here: Sequence[Row]) -> list[Claim]:
    parts = {str(s): where(here, scheme=s) for s in distinct(here, "scheme")}
    level = {s: _ends_of_thirds(part) for s, part in parts.items()}
    queues, peaks = ends(here, "queue_max"), {s: float(p[0]["peak"]) for s, p in parts.items()}
    draining = tail(parts["CG"], "queue_max")
    return [
        Claim(
            "CG adapts to each change of the machines, and its queues drain",
            "adapts very efficiently",
            f"spread of utilisation at the end of each third: {_three(level['CG'])}; longest "
            f"queue {draining[0]:,.0f} → {draining[-1]:,.0f} in the last tenth",
            max(level["CG"]) <= LEVEL and draining[-1] <= max(draining[0], LOW),
            "PoRC's slack of ε grows with the stream: where keys come in bursts a virtual worker "
            "may take the rows of many slots at once",
            value=max(level["CG"]),
        ),
        Claim(
            "KG and SG do not",
            "queues grow",
            f"spread KG {_three(level['KG'])}, SG {_three(level['SG'])}; longest queue at the "
            f"end KG {queues['KG']:,.0f}, SG {queues['SG']:,.0f}",
            min(*level["KG"], *level["SG"]) > LEVEL
            and all(growing(parts[s], "queue_max") for s in ("KG", "SG")),
            value=min(*level["KG"], *level["SG"]),
        ),
        Claim(
            "our defaults adapt too, with a fifth of the queues or less",
            "(one virtual worker a slot)",
            f"spread {_three(level[OURS])}; peak of the longest queue {peaks[OURS]:,.0f} instead "
            f"of {peaks['CG']:,.0f}",
            max(level[OURS]) <= LEVEL and peaks[OURS] <= 0.2 * peaks["CG"],
            value=peaks[OURS] / peaks["CG"],
            added=True,
        ),
    ]


def _ends_of_thirds(rows: Sequence[Row]) -> list[float]:
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
    lambda setting: _fig11_on(setting, WP, wikipedia(setting, _rows11(setting))),
    lambda rows: each_stream(rows, _fig11_of),
    lambda rows: timelines(rows, "Fig 11: speeds change after each third of the stream"),
    CHOICES,
    draws=DRAWS,
    real=on_reals(_fig11_on, _rows11),
)

FIGURES = (FIG10, FIG11)
