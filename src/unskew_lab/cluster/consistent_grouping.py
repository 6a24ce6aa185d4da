"""Figures 12 and 13 of Consistent Grouping: throughput and latency, also with slow executors."""

from __future__ import annotations

from collections.abc import Sequence

from unskew_lab.cluster.counting import Counting, Stream
from unskew_lab.cluster.judging import against_spark, at_work, bars, gain, times
from unskew_lab.cluster.machines import SLOW
from unskew_lab.papers.plot import Panel, Plot
from unskew_lab.papers.reading import distinct, lines, the, where
from unskew_lab.papers.specification import Claim, Figure, Paper, Row, Setting
from unskew_lab.papers.streams import TWITTER_TOP, exponent_for

LEVEL_WAYS = (
    "KG", "PKG", "CG", "SG", "planned split", "Spark: more partitions", "Spark: AQE rebalance",
)  # fmt: skip
SLOW_WAYS = (
    "KG", "PKG", "CG", "SG", "CG, virtual workers as tasks", "planned split, small tasks",
    "Spark: more partitions", "Spark: small tasks in turn",
)  # fmt: skip
TARGET, SLOW_TARGET = 2.75, 3.44
FIRST_SLOW = ((SLOW, 1.0, 1.0, 1.0),)
CHANGING = ((SLOW, 1.0, 1.0, 1.0), (1.0, SLOW, 1.0, 1.0))

FIXED = (
    "120 tasks in Python take some 5 s to start on two cores, as long as the work itself at the "
    "quick size; a stream whose workers stay on their machines needs none (docs/streaming.md)"
)

CHOICES = (
    "24 slots on four machines of a local standalone cluster, 8 source files; a row costs its "
    "delay in sleep. Throughput is rows over the wall time of the whole job, planning and merging "
    "included; latency is from the start of the job until a row is done. KG is plain Spark's "
    "hashing. The paper binds a worker to a machine; Spark gives the next task to the slot that is "
    "free, so virtual workers are tasks, and their map to machines is Spark's scheduler."
)


def _streams(setting: Setting, quick: int) -> list[Stream]:
    skewed = Stream("z=1.4", 1.4, 10_000, quick if setting.quick else 150_000, setting.seed)
    if setting.quick:
        return [skewed]
    keys = 100_000
    return [skewed, Stream("TW-like", exponent_for(TWITTER_TOP, keys), keys, 150_000, setting.seed)]


def _fig12_cells(setting: Setting) -> list[Counting]:
    if setting.quick:
        [stream] = _streams(setting, 100_000)
        light = [Counting(stream, way, 0.1) for way in ("KG", "CG", "planned split")]
        quick = [way for way in LEVEL_WAYS if way != "Spark: more partitions"]
        return [*light, *(Counting(stream, way, 1.0) for way in quick)]
    return [
        Counting(stream, way, delay)
        for stream in _streams(setting, 0)
        for delay in (0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
        for way in LEVEL_WAYS
    ]


def _fig12_claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for stream in map(str, distinct(rows, "stream")):
        slowest = max(float(row["delay"]) for row in rows)
        part = where(rows, stream=stream, delay=slowest)
        ways = [str(way) for way in distinct(part, "scheme")]
        ratios = {way: gain(part, way) for way in ("PKG", "CG", "SG", "planned split")}
        waits = {way: the(part, "latency_mean", scheme=way) for way in ways}
        memory = {way: the(part, "replicas", scheme=way) for way in ("KG", "PKG", "CG", "SG")}
        claims += [
            Claim(
                f"{stream}: throughput of PKG, CG and SG is far above KG's at {slowest:g} ms",
                "≫ KG",
                ", ".join(f"{way} {times(value)}" for way, value in ratios.items()) + " of KG",
                min(ratios[way] for way in ("PKG", "CG", "SG")) > 1.2,
            ),
            Claim(
                f"{stream}: so is their latency below it",
                "≪ KG",
                ", ".join(f"{way} {value:.2f} s" for way, value in waits.items()),
                max(waits[way] for way in ("PKG", "CG", "SG")) < waits["KG"],
            ),
            Claim(
                f"{stream}: memory KG < PKG ≈ CG < SG",
                "7 %, 8.5 %, 8.5 %, 14 %",
                ", ".join(f"{way} {value:,.0f} counters" for way, value in memory.items()),
                memory["KG"] < min(memory["PKG"], memory["CG"])
                and max(memory["PKG"], memory["CG"]) < memory["SG"],
            ),
            Claim(
                f"{stream}: target: CG and planned split reach {TARGET} times KG's throughput",
                f"{TARGET} (paper 001's best)",
                ", ".join(at_work(part, way) for way in ("CG", "planned split")),
                min(ratios["CG"], ratios["planned split"]) >= TARGET,
            ),
            against_spark(part, f"{stream}: ", ways),
        ]
    return claims


def _fig12_plot(rows: Sequence[Row]) -> Plot:
    panels = [
        Panel(
            f"{stream}: {label}",
            "ms a row",
            unit,
            lines(where(rows, stream=stream), "delay", column),
        )
        for stream in distinct(rows, "stream")
        for column, label, unit in (
            ("throughput", "throughput", "rows a second"),
            ("latency_mean", "latency", "seconds"),
            ("replicas", "memory", "counters"),
        )
    ]
    return Plot("Consistent Grouping, Fig 12: on a cluster of 24 equal slots", panels)


FIG12 = Figure("12", "24 equal slots", _fig12_cells, _fig12_claims, _fig12_plot, CHOICES)


def _fig13_cells(setting: Setting) -> list[Counting]:
    small = ("CG, virtual workers as tasks", "planned split, small tasks")
    quick = ("KG", "SG", *small, "Spark: small tasks in turn")
    streams = _streams(setting, 60_000)
    cells = [
        Counting(stream, way, 1.0, speeds=FIRST_SLOW)
        for stream in streams
        for way in (quick if setting.quick else SLOW_WAYS)
    ]
    changing = [
        Counting(streams[0], way, 1.0, batches=2, speeds=CHANGING) for way in ("KG", *small)
    ]
    return [*cells, *changing]


def _fig13_claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    small = ("CG, virtual workers as tasks", "planned split, small tasks")
    for stream in map(str, distinct(rows, "stream")):
        part = where(rows, stream=stream, batches=1)
        ways = [str(way) for way in distinct(part, "scheme")]
        ratios = {way: gain(part, way) for way in ways}
        waits = {way: the(part, "latency_mean", scheme=way) for way in ways}
        claims += [
            Claim(
                f"{stream}: two of 24 executors at 30 %: CG's throughput is the best of the "
                "paper's schemes",
                "CG best",
                ", ".join(f"{way} {times(value)}" for way, value in ratios.items()) + " of KG",
                ratios[small[0]] >= max(ratios.get(way, 0) for way in ("KG", "PKG", "SG")),
                FIXED,
            ),
            Claim(
                f"{stream}: target: CG and planned split reach {SLOW_TARGET} times KG's throughput",
                f"{SLOW_TARGET}",
                ", ".join(at_work(part, way) for way in small),
                min(ratios[way] for way in small) >= SLOW_TARGET,
                FIXED,
            ),
            Claim(
                f"{stream}: and half its latency",
                "2.0",
                ", ".join(f"{way} {times(waits['KG'] / waits[way])}" for way in small),
                min(waits["KG"] / waits[way] for way in small) >= 2,
                "latency counts from the start of a job, and planning and routing come first",
            ),
            against_spark(part, f"{stream}: ", ways),
        ]
        changed = where(rows, stream=stream, batches=2)
        if changed:
            found = {way: gain(changed, way) for way in small}
            claims.append(
                Claim(
                    f"{stream}: other executors turn slow in the run: CG adapts",
                    "adapts",
                    ", ".join(f"{way} {times(value)}" for way, value in found.items()) + " of KG",
                    min(found.values()) > 1.5,
                    FIXED,
                )
            )
    return claims


def _fig13_plot(rows: Sequence[Row]) -> Plot:
    return bars("Consistent Grouping, Fig 13: two of 24 executors at 30 %", where(rows, batches=1))


FIG13 = Figure("13", "Two of 24 at 30 % speed", _fig13_cells, _fig13_claims, _fig13_plot, CHOICES)

PAPER = Paper(
    name="consistent-grouping",
    title="Consistent Grouping on a cluster",
    figures=(FIG12, FIG13),
)
