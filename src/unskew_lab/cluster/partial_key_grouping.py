"""Partial Key Grouping, figure 10 and table 3: delays, aggregation periods, memory."""

from __future__ import annotations

from collections.abc import Sequence

from unskew_lab.cluster.counting import Counting, ZipfInput
from unskew_lab.cluster.thresholds import against_spark, gain, more, times
from unskew_lab.papers.plot import Panel, Plot
from unskew_lab.papers.reading import distinct, lines, numbers, the, where
from unskew_lab.papers.specification import Claim, Figure, Paper, Row, Setting
from unskew_lab.papers.streams import WIKIPEDIA_TOP, exponent_for

SCHEMES = ("KG", "PKG", "SG", "planned split", "Spark: more partitions", "Spark: AQE rebalance")
MERGED = ("KG", "PKG", "SG", "planned split")
KEYS = 20_000
AGGREGATED = 0.4

CHOICES = (
    "A Zipf stream whose hottest key has WP's 9.32 %. A micro-batch is an aggregation period: its "
    "partial counts are merged at its end, and memory is the mean number of counters (worker, key) "
    "of a period. Delays are slept on 24 slots. The latency of a row is from the start of its "
    "batch until it is done."
)


def _stream(setting: Setting) -> ZipfInput:
    rows = 48_000 if setting.quick else 150_000
    return ZipfInput("WP-like", exponent_for(WIKIPEDIA_TOP, KEYS), KEYS, rows, setting.seed)


def _delays(setting: Setting) -> tuple[float, ...]:
    return (0.1, 1.0) if setting.quick else (0.1, 0.2, 0.6, 0.8, 1.0)


def _delayed(setting: Setting) -> list[Counting]:
    stream = _stream(setting)
    return [Counting(stream, scheme, delay) for delay in _delays(setting) for scheme in SCHEMES]


def _periods(setting: Setting) -> list[Counting]:
    stream = _stream(setting)
    batches = (1, 4) if setting.quick else (1, 2, 4, 8)
    return [
        Counting(stream, scheme, AGGREGATED, batches=count)
        for count in batches
        for scheme in MERGED
    ]


def _fig10_cells(setting: Setting) -> list[Counting]:
    return [*_delayed(setting), *_periods(setting)]


FIXED = (
    "a quick job is 2 s of work for all slots; routing in Python and merging take another 3 s on "
    "two cores, KG's shuffle less than one"
)


def _fig10_claims(rows: Sequence[Row]) -> list[Claim]:
    delayed = [row for row in rows if row["delay"] != AGGREGATED and row["batches"] == 1]
    low, high = min(numbers(delayed, "delay")), max(numbers(delayed, "delay"))
    falls = {
        scheme: 1
        - the(delayed, "throughput", scheme=scheme, delay=high)
        / the(delayed, "throughput", scheme=scheme, delay=low)
        for scheme in SCHEMES
    }
    at_high = where(delayed, delay=high)
    periods = where(rows, delay=AGGREGATED)
    shortest = max(int(row["batches"]) for row in periods)
    short = where(periods, batches=shortest)
    memory = {scheme: the(short, "replicas", scheme=scheme) for scheme in MERGED}
    longest = where(periods, batches=1)
    saved = 1 - the(longest, "replicas", scheme="PKG") / the(longest, "replicas", scheme="SG")
    return [
        Claim(
            f"throughput falls less with PKG and SG than with KG when a row costs {high:g} ms "
            f"instead of {low:g}",
            "KG −60 %, PKG and SG −37 %",
            ", ".join(f"{scheme} {more(1 - fall)}" for scheme, fall in falls.items()),
            max(falls["PKG"], falls["SG"]) < falls["KG"],
        ),
        Claim(
            f"at {high:g} ms PKG and SG process more than KG",
            "≈ 1.6 ×",
            ", ".join(f"{scheme} {times(gain(at_high, scheme))}" for scheme in SCHEMES[1:])
            + " of KG",
            min(gain(at_high, "PKG"), gain(at_high, "SG")) > 1.2,
            FIXED,
        ),
        Claim(
            "PKG has a little more memory than KG and far less than SG",
            "counters KG 2.9M, PKG 3.6M, SG 7.2M",
            ", ".join(f"{scheme} {count:,.0f}" for scheme, count in memory.items()),
            memory["KG"] <= memory["PKG"] < memory["SG"],
        ),
        Claim(
            "at the longest period PKG saves memory against SG",
            "−30 %",
            more(1 - saved),
            saved >= 0.2,
        ),
        against_spark(at_high, f"at {high:g} ms: ", SCHEMES),
    ]


def _fig10_plot(rows: Sequence[Row]) -> Plot:
    delayed = [row for row in rows if row["delay"] != AGGREGATED]
    periods = where(rows, delay=AGGREGATED)
    panels = [
        Panel("throughput", "ms a row", "rows a second", lines(delayed, "delay", "throughput")),
        Panel("0.4 ms", "counters", "rows a second", lines(periods, "replicas", "throughput")),
    ]
    return Plot("Partial Key Grouping, Fig 10: on a cluster of 24 slots", panels, columns=2)


FIG10 = Figure("10", "Delays, periods, memory", _fig10_cells, _fig10_claims, _fig10_plot, CHOICES)


def _table3_claims(rows: Sequence[Row]) -> list[Claim]:
    delayed = [row for row in rows if row["delay"] != AGGREGATED]
    high = max(numbers(delayed, "delay"))
    waits = {scheme: the(delayed, "latency_mean", scheme=scheme, delay=high) for scheme in SCHEMES}
    periods = where(rows, delay=AGGREGATED)
    falling = {
        scheme: [the(periods, "latency_mean", scheme=scheme, batches=int(count))
              for count in distinct(periods, "batches")]
        for scheme in ("PKG", "SG")
    }  # fmt: skip
    return [
        Claim(
            f"KG's latency is above PKG's and SG's at {high:g} ms",
            "up to +45 %",
            ", ".join(f"{scheme} {wait:.2f} s" for scheme, wait in waits.items())
            + f"; KG {more(waits['KG'] / waits['PKG'])} over PKG",
            waits["KG"] > max(waits["PKG"], waits["SG"]),
            FIXED,
        ),
        Claim(
            "shorter periods cost latency or leave it as it is",
            "the shorter the period, the higher the latency",
            "; ".join(
                f"{scheme} " + " → ".join(f"{wait:.2f}" for wait in found) + " s"
                for scheme, found in falling.items()
            ),
            all(found[-1] >= found[0] for found in falling.values()),
            "here a period is also the time that rows are collected for: the shorter it is, the "
            "fewer rows wait in front of a row",
        ),
    ]


def _table3_plot(rows: Sequence[Row]) -> Plot:
    panels = [
        Panel("latency", "ms a row", "seconds",
              lines([row for row in rows if row["delay"] != AGGREGATED], "delay", "latency_mean")),
        Panel("latency at 0.4 ms", "periods in the run", "seconds",
              lines(where(rows, delay=AGGREGATED), "batches", "latency_mean")),
    ]  # fmt: skip
    return Plot("Partial Key Grouping, Table 3: on a cluster of 24 slots", panels, columns=2)


TABLE3 = Figure("table-3", "Latency", _fig10_cells, _table3_claims, _table3_plot, CHOICES)

PAPER = Paper(
    name="partial-key-grouping",
    title="Partial Key Grouping on a cluster",
    figures=(FIG10, TABLE3),
)
