"""Workload skewness and variance, figures 13 to 16: keyed state that moves."""

from __future__ import annotations

from collections.abc import Sequence

from unskew_lab.cluster.query5 import Query5
from unskew_lab.cluster.scaling_out import ScaledOut
from unskew_lab.cluster.stateful import Fluctuating, Ideal, Merged, Stateful
from unskew_lab.cluster.thresholds import (
    NOISE,
    REPEATS,
    balance_by_batch,
    later,
    mean,
    more,
    speed_of,
    throughput,
    times,
    wait_of,
)
from unskew_lab.papers.plot import Panel, Plot
from unskew_lab.papers.reading import distinct, lines, near, numbers, the, where
from unskew_lab.papers.specification import Cell, Claim, Figure, Paper, Row, Setting

TIGHT, USUAL, SCALED, LOOSE = 0.02, 0.08, 0.1, 0.3
READJ = 0.04
"""Readj's strict tolerance: at 0.02 a plan takes minutes, and levels no better."""
TARGET = 2.0
MINUTE = 60.0
EVERY, LASTING = 2, 4
"""Batches after which frequencies change; the second leaves a plan two batches of its own."""
LEVEL = 1.15

CHOICES = (
    "z = .85 and N_D = 15 as in the paper, 3,000 keys, a row costs 1 ms of sleep. Frequencies "
    "change every {} micro-batch; a plan made from a batch is in force two batches later, the "
    "state is handed over in between. Throughput is rows over wall time from the third batch on, "
    "the first one that a plan can reach; the two before it have half the rows. "
    "Every planner has the tolerance that is asked. "
)
IDEAL = (
    "Ideal is a run of its own: the same rows and costs, dealt out regardless of keys, as in the "
    "paper. "
)
SLOWLY = (
    "Social and Stock are not public; their frequencies last for days, many times as long as a "
    "plan takes. Of the three batches that count, the last is the first one after a change. "
)
BASES = (
    "Hashing is the same keyed state without a table; Spark's own transformWithState is slower "
    "still (unskew bench streaming). PKG's partial counts are merged in Spark's state store. "
)
STRICT = (
    "Readj is measured at θ = 0.04, not 0.02, where each of its plans takes minutes. At full size "
    "a batch holds 10 s of work for each worker."
)
SOCIAL = (
    "The plan for as many keys as Social has, 180,000, is made beside the stream, of level loads "
    "on 15 workers, by Readj with the largest σ of .1, .05, .02 and .01 that meets θ. "
)
LATE = (
    "a plan reaches a batch when frequencies have changed once more: loads are then 1.1 … 1.5 of "
    "the mean, and 1.1 where the plan was made of the batch's own frequencies"
)


def _stream(
    setting: Setting, rate: float, rows: int, batches: int = 5, every: int = EVERY
) -> Fluctuating:
    """`rows` are those of a batch at full size."""
    each = 45_000 if setting.quick else rows
    return Fluctuating(rate, batches, each, every, seed=setting.seed)


def _fig13_cells(setting: Setting) -> list[Cell]:
    rates = (0.5, 2.0)
    found: list[Cell] = [
        Stateful(_stream(setting, rate, 60_000), scheme, USUAL)
        for rate in rates
        for scheme in ("mixed", "readj")
    ]
    lasting = _stream(setting, rates[-1], 60_000, batches=2 * LASTING, every=LASTING)
    return [*found, Stateful(lasting, "mixed", USUAL), Ideal(_stream(setting, rates[0], 60_000))]


def _fig13_claims(rows: Sequence[Row]) -> list[Claim]:
    ideal = speed_of(where(rows, scheme="ideal"))
    changing = where(rows, every=EVERY)
    rates = sorted(numbers(where(changing, scheme="mixed", batch=0), "rate"))
    found = {
        scheme: [speed_of(where(changing, scheme=scheme, rate=rate)) for rate in rates]
        for scheme in ("mixed", "readj")
    }
    falls = {scheme: speeds[0] / speeds[-1] for scheme, speeds in found.items()}
    least = min(found["mixed"]) / ideal
    told = {
        scheme: ", ".join(f"{speed / ideal:.0%}" for speed in speeds)
        for scheme, speeds in found.items()
    }
    at = ", ".join(f"{rate:g}" for rate in rates)
    lasting = where(rows, every=LASTING)
    planned, late = (speed_of(where(lasting, late=each)) / ideal for each in (False, True))
    return [
        Claim(
            "Mixed's throughput is near the ideal whatever f",
            "very close to Ideal",
            f"{told['mixed']} of the ideal's at f = {at} (Readj {told['readj']})",
            least >= 0.8,
            LATE,
            value=least,
        ),
        Claim(
            "Readj's falls as f grows, much more than Mixed's",
            "changes dramatically",
            f"throughput at f = {rates[0]:g} over {rates[-1]:g}: Readj {times(falls['readj'])}, "
            f"Mixed {times(falls['mixed'])}",
            falls["readj"] > 1.1 * max(1.0, falls["mixed"]),
            "of 3,000 keys Readj's plans are ready between two batches, and they leave loads above "
            "the tolerance whatever f; the paper's take as long as minutes",
            value=falls["readj"] / falls["mixed"],
        ),
        Claim(
            f"frequencies last {LASTING} batches: Mixed is near the ideal where its plan was made "
            "of the batch's own frequencies",
            "(a plan is made for the interval that follows)",
            f"{planned:.0%} of the ideal's throughput there, {late:.0%} in the others",
            planned >= 0.8 and planned > late,
            value=planned,
            added=True,
        ),
    ]


FIG13 = Figure(
    "13", "Distribution change", _fig13_cells, _fig13_claims,
    lambda rows: balance_by_batch(
        "Fig 13: frequencies that change",
        where(rows, rate=max(numbers(rows, "rate")), every=EVERY),
    ),
    CHOICES.format("second") + IDEAL, draws=REPEATS,
)  # fmt: skip


def _fig14_cells(setting: Setting) -> list[Cell]:
    stream = _stream(setting, 1.0, 150_000, every=LASTING)
    return [
        Stateful(stream, "hashing", TIGHT),
        *(Stateful(stream, "mixed", theta) for theta in (TIGHT, LOOSE)),
        *(Stateful(stream, "readj", theta) for theta in (READJ, LOOSE)),
        Stateful(stream, "mintable", TIGHT),
        Merged(stream),
    ]  # fmt: skip


def _fig14_claims(rows: Sequence[Row]) -> list[Claim]:
    def speed(scheme: str, theta: float = TIGHT) -> float:
        return speed_of(where(rows, scheme=scheme, theta=theta))

    hashing, split = where(rows, scheme="hashing"), where(rows, scheme="pkg")
    bound = mean(later(hashing), "max_over_mean")
    over = {
        "hashing": speed("mixed") / speed("hashing"),
        "Readj": speed("mixed") / speed("readj", READJ),
    }
    loose = speed("readj", LOOSE) / speed("mixed", LOOSE)
    strict = speed("mixed") / speed("mixed", LOOSE)
    table = speed("mixed") / speed("mintable")
    merged = speed("mixed") / speed_of(split)
    wait = wait_of(where(rows, scheme="mixed", theta=TIGHT)) / wait_of(split)
    return [
        Claim(
            f"θ={TIGHT:g}: Mixed processes twice as much as hashing",
            f"about {TARGET:g} ×",
            f"{times(over['hashing'])} (balance alone {times(bound)})",
            near(over["hashing"], TARGET),
            LATE,
            value=over["hashing"],
        ),
        Claim(
            f"θ={TIGHT:g}: and as Readj",
            f"about {TARGET:g} ×",
            f"{times(over['Readj'])} (Readj at θ={READJ:g})",
            near(over["Readj"], TARGET),
            "the stream waits for Readj's plans, which take seconds at 0.04; at 0.02 four batches "
            "took ten minutes, where Mixed's took half a minute",
            value=over["Readj"],
        ),
        Claim(
            f"Readj catches up at θ={LOOSE:g}",
            "as Mixed",
            times(loose),
            loose >= 0.9 and loose >= 1 / over["Readj"],
            "Readj moves few keys or none, and loads stay at 1.5 … 1.8 of the mean",
            value=loose,
        ),
        Claim(
            "a strict tolerance is best",
            f"best at θ={TIGHT:g}",
            f"{times(strict)} of what Mixed does at θ={LOOSE:g}",
            strict > 1.0,
            value=strict,
        ),
        Claim(
            "MinTable processes less than Mixed",
            "less: it migrates more",
            f"Mixed {times(table)} of MinTable",
            table > 1.0,
            "state is a number a key here, and costs next to nothing to move",
            value=table,
        ),
        Claim(
            "Mixed processes more than partial key grouping, and sooner",
            "+10 % throughput, −40 % latency",
            f"throughput {more(merged)}, latency {more(wait)}",
            merged >= 1.05 and wait <= 0.8,
            "partial counts are merged in Spark's own state store, in the same job; the paper's "
            "merge is an operator of its own that waits for them",
            value=merged,
        ),
    ]


def _fig14_plot(rows: Sequence[Row]) -> Plot:
    summary: list[Row] = [
        {"scheme": scheme, "theta": theta, "throughput": speed_of(part)}
        for scheme in distinct(rows, "scheme")
        for theta in distinct(rows, "theta")
        if (part := where(rows, scheme=scheme, theta=theta))
    ]
    done = lines(summary, "theta", "throughput")
    panel = Panel("throughput", "θ", "rows a second", done, from_zero=True)
    return Plot("Fig 14: how far loads may be off", [panel], columns=1)


FIG14 = Figure(
    "14", "Tolerance", _fig14_cells, _fig14_claims, _fig14_plot,
    CHOICES.format("fourth") + SLOWLY + BASES + STRICT, draws=REPEATS,
)  # fmt: skip


def _fig15_cells(setting: Setting) -> list[Cell]:
    stream = _stream(setting, 0.0, 150_000, batches=6)
    running = Stateful(stream, "mixed", SCALED, workers=15, scaled=16)
    return [running, ScaledOut(SCALED, setting.seed)]


def _fig15_claims(rows: Sequence[Row]) -> list[Claim]:
    before, after = where(rows, workers=15), where(rows, workers=16)
    balance = numbers(after, "max_over_mean")
    planning = max(numbers(where(rows, scheme="mixed"), "planning"))
    gained = throughput(after) / throughput(later(before))
    social = {s: the(rows, "planned_in", planner=s) for s in ("mixed", "readj")}
    top = the(rows, "max_over_mean", planner="readj")
    return [
        Claim(
            f"one worker more: Mixed has rebalanced when it comes (θ={SCALED:g})",
            "within a much shorter time",
            f"max/mean {', '.join(f'{value:.2f}' for value in balance)}; planning {planning:.3f} s",
            balance[0] <= LEVEL and planning < 1.0,
            value=balance[0],
        ),
        Claim(
            "and its throughput is at least what it was",
            "recovers at once",
            times(gained),
            gained >= NOISE,
            value=gained,
        ),
        Claim(
            "Readj takes minutes to plan for the keys of Social",
            "at least 5 minutes",
            f"{social['readj']:.1f} s, to a max/mean of {top:.2f}, Mixed {social['mixed']:.2f} s",
            social["readj"] >= MINUTE,
            "in compiled loops here, and still "
            f"{social['readj'] / social['mixed']:,.0f} times what Mixed takes",
            value=social["readj"],
        ),
    ]


FIG15 = Figure(
    "15", "One worker more while running", _fig15_cells, _fig15_claims,
    lambda rows: balance_by_batch(
        "Fig 15: 15 workers, then 16", [row for row in rows if "batch" in row]
    ),
    CHOICES.replace("Frequencies change every {} micro-batch; a plan", "A plan") + SOCIAL,
    draws=REPEATS,
)  # fmt: skip

Q5_CHOICES = (
    "Orders and lines of TPC-H with foreign keys of z = .8, windows of five minutes; which orders "
    "are frequent changes every five minutes of events (the paper: 15); a micro-batch holds one "
    "minute. Measured is the join of lines and orders on 15 workers, in six minutes of events "
    "that cost sleep; the joins with customers and suppliers come after it, the same under each "
    "scheme. At full size a batch holds 10 s of work for each worker."
)
MINUTES = 6
"""The last one comes after the change."""


def _fig16_cells(setting: Setting) -> list[Query5]:
    scale, cost = (0.01, 12.0) if setting.quick else (0.025, 16.0)
    return [
        Query5(scheme, SCALED, scale, cost, MINUTES, draw=setting.draw)
        for scheme in ("hashing", "mixed", "readj")
    ]


def _fig16_claims(rows: Sequence[Row]) -> list[Claim]:
    hashing = where(rows, scheme="hashing")
    found = {s: speed_of(where(rows, scheme=s)) / speed_of(hashing) for s in ("mixed", "readj")}
    bound = mean(later(hashing), "max_over_mean")
    least = found["mixed"] / max(1.0, found["readj"])
    return [
        Claim(
            f"θ={SCALED:g}: Mixed processes most events of query 5",
            "Mixed best at any θ",
            ", ".join(f"{s} {times(value)}" for s, value in found.items())
            + f" of hashing (balance alone {times(bound)})",
            least > 1.0,
            "hashing is not far from level here, and its batches need no move",
            value=least,
        )
    ]


FIG16 = Figure(
    "16", "TPC-H query 5", _fig16_cells, _fig16_claims,
    lambda rows: balance_by_batch("Fig 16: query 5 of TPC-H", rows), Q5_CHOICES, draws=REPEATS,
)  # fmt: skip

PAPER = Paper(
    name="skewness-and-variance",
    title="Workload skewness and variance on a cluster",
    figures=(FIG13, FIG14, FIG15, FIG16),
)
