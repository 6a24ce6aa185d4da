"""Workload skewness and variance, figures 13 to 16: keyed state that moves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from unskew_lab.cluster.query5 import Query5
from unskew_lab.cluster.stateful import Fluctuating, Merged, Stateful
from unskew_lab.cluster.thresholds import NOISE, more, times
from unskew_lab.papers.plot import Panel, Plot
from unskew_lab.papers.reading import distinct, lines, numbers, where
from unskew_lab.papers.specification import Cell, Claim, Figure, Paper, Row, Setting

SCHEMES = ("hashing", "mixed", "readj")
TIGHT, LOOSE = 0.02, 0.3
TARGET = 2.0

CHOICES = (
    "z = .85 and N_D = 15 as in the paper, 3,000 keys, a row costs 1 ms of sleep. Frequencies "
    "change every third micro-batch; a plan made from a batch is in force in the next one. "
    "Throughput is rows over wall time from the second batch on. Ideal is the mean work of the "
    "workers plus what the batch took beyond its longest worker. Hashing is the same keyed state "
    "without a table: Spark's own transformWithState is slower still (unskew bench streaming)."
)


def _stream(setting: Setting, rate: float) -> Fluctuating:
    batches, rows = (5, 36_000) if setting.quick else (12, 60_000)
    return Fluctuating(rate, batches, rows, seed=setting.seed)


def _throughput(rows: Sequence[Row]) -> float:
    """Rows a second, without the first batch, which there was nothing to learn from."""
    later = [row for row in rows if int(row["batch"]) > 0]
    return sum(numbers(later, "rows")) / sum(numbers(later, "seconds"))


def _latency(rows: Sequence[Row]) -> float:
    """The mean seconds from the start of a batch to its result."""
    return float(np.mean([float(row["seconds"]) for row in rows if int(row["batch"]) > 0]))


def _ideal(rows: Sequence[Row]) -> float:
    later = [row for row in rows if int(row["batch"]) > 0]
    seconds = [float(row["mean"]) + float(row["seconds"]) - float(row["longest"]) for row in later]
    return sum(numbers(later, "rows")) / sum(seconds)


def _by_batch(title: str, rows: Sequence[Row]) -> Plot:
    panels = [
        Panel("batch times", "batch", "seconds", lines(rows, "batch", "seconds")),
        Panel("balance", "batch", "max over mean", lines(rows, "batch", "max_over_mean")),
    ]
    return Plot(title, panels, columns=2)


def _fig13_cells(setting: Setting) -> list[Stateful]:
    rates = (1.0,) if setting.quick else (0.0, 0.5, 1.0, 2.0)
    return [Stateful(_stream(setting, rate), scheme, TIGHT) for rate in rates for scheme in SCHEMES]


def _fig13_claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for rate in distinct(rows, "rate"):
        parts = {s: where(rows, scheme=s, rate=rate) for s in SCHEMES}
        ratio = {s: _throughput(part) / _ideal(part) for s, part in parts.items()}
        swing = {s: float(np.ptp(numbers(part[1:], "seconds"))) for s, part in parts.items()}
        claims += [
            Claim(
                f"f={rate:g}: Mixed's throughput is near the ideal",
                "near Ideal",
                ", ".join(f"{s} {value:.0%}" for s, value in ratio.items()) + " of the ideal",
                ratio["mixed"] >= 0.8,
            ),
            Claim(
                f"f={rate:g}: Readj's swings more than Mixed's",
                "swings",
                f"batch times range over {swing['mixed']:.2f} s with Mixed, "
                f"{swing['readj']:.2f} s with Readj",
                swing["readj"] > swing["mixed"],
                "Readj plans in milliseconds here, between two batches; in the paper its planning "
                "takes minutes and the stream goes on meanwhile",
            ),
        ]
    return claims


FIG13 = Figure(
    "13", "Distribution change", _fig13_cells, _fig13_claims,
    lambda rows: _by_batch("Fig 13: frequencies that change", where(rows, rate=1.0)),
    CHOICES,
)  # fmt: skip


def _fig14_cells(setting: Setting) -> list[Cell]:
    stream = _stream(setting, 1.0)
    thetas = (TIGHT, LOOSE) if setting.quick else (TIGHT, 0.08, 0.15, LOOSE)
    return [
        Stateful(stream, "hashing", TIGHT),
        Stateful(stream, "readj", TIGHT),
        *(Stateful(stream, "mixed", theta) for theta in thetas),
        Merged(stream),
    ]


def _fig14_claims(rows: Sequence[Row]) -> list[Claim]:
    found = {s: _throughput(where(rows, scheme=s, theta=TIGHT)) for s in SCHEMES}
    bound = float(np.mean([
        (float(row["longest"])) / float(row["mean"]) for row in where(rows, scheme="hashing")
    ]))  # fmt: skip
    thetas = [float(theta) for theta in distinct(where(rows, scheme="mixed"), "theta")]
    by_theta = {theta: _throughput(where(rows, scheme="mixed", theta=theta)) for theta in thetas}
    gain = found["mixed"] / found["hashing"]
    split = where(rows, scheme="pkg")
    speed = found["mixed"] / _throughput(split)
    wait = _latency(where(rows, scheme="mixed", theta=TIGHT)) / _latency(split)
    return [
        Claim(
            f"θ={TIGHT:g}: Mixed processes twice as much as hashing",
            f"≈ {TARGET:g}",
            f"{times(gain)} (Readj {times(found['readj'] / found['hashing'])})",
            gain >= TARGET,
            f"hashing's longest worker has {bound:.2f} times the mean here, which bounds the gain",
        ),
        Claim(
            "the tighter θ is, the more Mixed processes",
            "falls with θ",
            ", ".join(f"θ={theta:g} {value:,.0f} rows/s" for theta, value in by_theta.items()),
            by_theta[min(thetas)] >= by_theta[max(thetas)],
            "a batch that moves keys takes 1 to 3 s more here, as much as tighter balance saves",
        ),
        Claim(
            "Mixed processes more than partial key grouping, and sooner",
            "+10 % throughput, −40 % latency",
            f"throughput {more(speed)}, latency {more(wait)}",
            speed >= 1 and wait <= 1,
            "partial counts are merged in Spark's own state store, in the same job; the paper's "
            "merge is an operator of its own that waits for them",
        ),
    ]


def _fig14_plot(rows: Sequence[Row]) -> Plot:
    summary: list[Row] = [
        {"scheme": s, "theta": theta, "throughput": _throughput(part)}
        for s in SCHEMES
        for theta in distinct(rows, "theta")
        if (part := where(rows, scheme=s, theta=theta))
    ]
    panel = Panel("throughput", "θ", "rows a second", lines(summary, "theta", "throughput"))
    return Plot("Fig 14: how far loads may be off", [panel], columns=1)


FIG14 = Figure("14", "Tolerance", _fig14_cells, _fig14_claims, _fig14_plot, CHOICES)


def _fig15_cells(setting: Setting) -> list[Stateful]:
    stream = _stream(setting, 0.0)
    return [Stateful(stream, scheme, TIGHT, workers=15, scaled=16) for scheme in ("mixed", "readj")]


def _fig15_claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for scheme in ("mixed", "readj"):
        part = where(rows, scheme=scheme)
        after = [row for row in part if row["workers"] == 16]
        balance = numbers(after, "max_over_mean")
        batches = next((i for i, value in enumerate(balance) if value <= 1.15), -1)
        planning = max(numbers(part, "planning"))
        text = f"level in batch {batches} after the change" if batches >= 0 else "not level"
        claims.append(
            Claim(
                f"one worker more: {scheme} is level again",
                "at once" if scheme == "mixed" else "after minutes",
                f"{text}: max/mean {', '.join(f'{value:.2f}' for value in balance)}; planning at "
                f"most {planning:.3f} s",
                0 <= batches <= 1 if scheme == "mixed" else batches != 0 or planning > 1,
                "" if scheme == "mixed" else "our Readj plans in milliseconds",
            )
        )
    return claims


FIG15 = Figure(
    "15", "One worker more while running", _fig15_cells, _fig15_claims,
    lambda rows: _by_batch("Fig 15: 15 workers, then 16", rows), CHOICES,
)  # fmt: skip

Q5_CHOICES = (
    "Orders and lines of TPC-H with foreign keys of z = .8, windows of five minutes; which orders "
    "are frequent changes every five minutes of events (the paper: 15). Measured is the join of "
    "lines and orders on 15 workers, where an event costs 4 ms of sleep; the joins with customers "
    "and suppliers come after it and are the same under each scheme."
)


def _fig16_cells(setting: Setting) -> list[Query5]:
    scale, batches = (0.01, 8) if setting.quick else (0.04, 20)
    thetas = (TIGHT,) if setting.quick else (TIGHT, 0.08, 0.15, LOOSE)
    asked = [("hashing", TIGHT), *((s, theta) for theta in thetas for s in ("mixed", "readj"))]
    return [Query5(scheme, theta, scale, batches, cost=4.0) for scheme, theta in asked]


def _fig16_claims(rows: Sequence[Row]) -> list[Claim]:
    hashing = _throughput(where(rows, scheme="hashing"))
    claims = []
    for theta in distinct(rows, "theta"):
        found = {
            s: _throughput(where(rows, scheme=s, theta=theta)) / hashing for s in ("mixed", "readj")
        }
        claims.append(
            Claim(
                f"θ={theta:g}: Mixed processes most events of query 5",
                "Mixed best at any θ",
                ", ".join(f"{s} {times(value)}" for s, value in found.items()) + " of hashing",
                found["mixed"] >= max(1.0, NOISE * found["readj"]),
                "hashing's longest worker has 1.4 times the mean: 1 s of a batch of 7, and a batch "
                "that moves keys takes longer than that",
            )
        )
    return claims


FIG16 = Figure(
    "16", "TPC-H query 5", _fig16_cells, _fig16_claims,
    lambda rows: _by_batch("Fig 16: query 5 of TPC-H", where(rows, theta=TIGHT)), Q5_CHOICES,
)  # fmt: skip

PAPER = Paper(
    name="skewness-and-variance",
    title="Workload skewness and variance on a cluster",
    figures=(FIG13, FIG14, FIG15, FIG16),
)
