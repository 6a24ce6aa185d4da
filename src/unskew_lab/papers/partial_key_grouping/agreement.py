"""Figure 6: local choices beside an oracle's; and keys whose popularity drifts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from unskew.kernels import KeyHashes
from unskew.kernels.mixing import salt_all
from unskew.simulator.sources import Sources
from unskew.workloads import Stream, ZipfStream
from unskew_lab.papers.judging import DRAWS
from unskew_lab.papers.partial_key_grouping.estimation import OverTime, level, pkg
from unskew_lab.papers.plot import Panel, Plot
from unskew_lab.papers.reading import distinct, each_stream, lines, numbers, rising, where
from unskew_lab.papers.specification import Claim, Figure, Row, Setting
from unskew_lab.papers.streams import exponent_for, named_reals, size, wikipedia, zipf


@dataclass(frozen=True, slots=True)
class Disagreement:
    """How often sources that estimate loads locally disagree with an oracle."""

    name: str
    stream: Stream
    workers: int
    sources: int
    exponent: float = 0.0

    def measure(self) -> Sequence[Row]:
        """One row; the Jaccard overlap is of the two sets of (message, worker)."""
        local = Sources(pkg(self.workers), self.sources)
        oracle = Sources(pkg(self.workers, "global"), self.sources)
        differ = messages = 0
        loads = np.zeros(self.workers, dtype=np.int64)
        for keys in self.stream.chunks():
            chosen = local.route(keys)
            loads += np.bincount(chosen, minlength=self.workers)
            differ += int(np.count_nonzero(chosen != oracle.route(keys)))
            messages += keys.size
        return [
            {
                "stream": self.name,
                "z": self.exponent,
                "scheme": f"S={self.sources}",
                "disagreement": 100 * differ / messages,
                "jaccard": (messages - differ) / (messages + differ),
                "above_mean": float(loads.max() / loads.mean()) - 1,
            }
        ]


def _cells(setting: Setting) -> list[Disagreement]:
    step = 2 if setting.quick else 1
    skews = [round(0.1 * tenth, 1) for tenth in range(step, 13, step)]
    return [
        *(
            Disagreement(
                "ZF", zipf(setting, z, 10_000, size(setting, quick=500_000)), 5, sources, z
            )
            for sources in (5, 10, 50, 100)
            for z in skews
        ),
        *(
            Disagreement("WP", wikipedia(setting, size(setting, quick=500_000)), n, 5)
            for n in (5, 10)
        ),
    ]


def _claims(rows: Sequence[Row]) -> list[Claim]:
    swept = where(rows, stream="ZF")
    by_sources = {
        str(s): numbers(where(swept, scheme=s), "disagreement") for s in distinct(swept, "scheme")
    }
    falls = [rising(values[::-1], slack=0.05) for values in by_sources.values()]
    ends = "; ".join(f"{s} {v[0]:.0f} → {v[-1]:.0f} %" for s, v in by_sources.items())
    worst = max(numbers([row for row in swept if float(row["z"]) < 1.15], "above_mean"))
    overlap = numbers(where(rows, stream="WP"), "jaccard")
    return [
        Claim(
            "local choices differ from the oracle's on many messages, fewer with more skew",
            "about half, falling with z",
            ends,
            all(falls)
            and min(v[0] for v in by_sources.values()) > 25
            and all(v[-1] < 0.95 * v[0] for v in by_sources.values()),
            value=min(v[0] for v in by_sources.values()),
        ),
        Claim(
            "the load is level nevertheless, for z < 1.2",
            "good balance",
            f"max/mean − 1 ≤ {worst:.1e}",
            worst < 0.01,
            value=worst,
        ),
        Claim(
            "on WP local and global choices overlap by 47 % (Jaccard)",
            "0.47",
            ", ".join(
                f"{each:.2f} ({n} workers)" for each, n in zip(overlap, (5, 10), strict=True)
            ),
            abs(float(np.mean(overlap)) - 0.47) <= 0.1,
            value=float(np.mean(overlap)),
        ),
    ]


def _plot(rows: Sequence[Row]) -> Plot:
    swept = where(rows, stream="ZF")
    panel = Panel("10k keys, 5 workers", "skew z", "disagreement, %",
                  lines(swept, "z", "disagreement"))  # fmt: skip
    return Plot("Partial Key Grouping, Fig 6: local choices beside the oracle's", [panel], 1)


FIG6 = Figure(
    "6",
    "How often local and global choices differ",
    _cells,
    _claims,
    _plot,
    choices="The oracle runs beside the sources on the same messages with loads of its own.",
    draws=DRAWS,
)

CASHTAGS_TOP, CASHTAGS, WEEKS = 0.0329, 2_900, 4


@dataclass(frozen=True, slots=True)
class Weeks:
    """A stream whose keys trade their popularity after each part of it."""

    parts: int
    keys: int
    messages: int
    seed: int

    def chunks(self) -> Iterator[KeyHashes]:
        """The key hashes of all rows, in order."""
        exponent = exponent_for(CASHTAGS_TOP, self.keys)
        rows = -(-self.messages // self.parts)
        for part in range(self.parts):
            left = min(rows, self.messages - part * rows)
            deal = np.random.default_rng([self.seed, part]).permutation(self.keys)
            for ids in ZipfStream(exponent, self.keys, left, self.seed + part).ids():
                yield salt_all(deal[ids].astype(np.uint64), np.uint64(self.seed + 2**20))


def _drift_on(name: str, stream: Stream) -> list[OverTime]:
    return [OverTime(level(name, stream, "L5", pkg(n), 5)) for n in (5, 10)]


def _drift_of(name: str, here: Sequence[Row]) -> list[Claim]:
    later = [row for row in here if float(row["share"]) > 0.1]
    highest, middle = (
        max(numbers(later, "imbalance")),
        float(np.median(numbers(later, "imbalance"))),
    )
    return [
        Claim(
            "while popularity drifts the imbalance stays low, with occasional spikes (W = 5, 10)",
            "low",
            f"{middle:.1e} in the median, {highest:.1e} at its peak, of the messages so far",
            middle < 1e-3 and highest < 1e-2,
            value=highest,
        )
    ]


def _drift_real(setting: Setting) -> dict[str, list[OverTime]]:
    every = named_reals(setting, most=None)
    return {name: _drift_on(name, each) for name, each in every if name == "stocknet_cashtags"}


DRIFT = Figure(
    "5-drift",
    "Keys whose popularity drifts",
    lambda setting: _drift_on("CT-like", Weeks(WEEKS, CASHTAGS, 690_000, setting.seed)),
    lambda rows: each_stream(rows, _drift_of),
    choices="CT is not public: Zipf keys with its size stand in, dealt anew every week of a month. "
    "In each the hottest key has CT's p₁; in the month it has 0.83 %. With `--data`, cashtags of "
    "other tweets.",
    draws=DRAWS,
    real=_drift_real,
)

FIGURES = (DRIFT, FIG6)
