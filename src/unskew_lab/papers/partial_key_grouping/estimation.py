"""Figures 4, 5 and 6: local estimates of the loads, beside an oracle and probing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unskew.partitioners import KeyGrouping, PartialKey
from unskew.simulator.sources import Sources
from unskew.workloads import LogNormalStream, Stream, ZipfStream
from unskew_lab.papers.cells import Routed
from unskew_lab.papers.plot import Panel, Plot
from unskew_lab.papers.reading import (
    at_the_end,
    by_stream,
    distinct,
    lines,
    numbers,
    panels_per_stream,
    rising,
    the,
    where,
)
from unskew_lab.papers.specification import Claim, Figure, Row, Setting
from unskew_lab.papers.streams import lognormal, named_reals, size, twitter, wikipedia

WORKERS = (5, 10, 50, 100)
SOURCES = (5, 10, 15, 20)
MINUTES = 1440
"""WP is a day long and probed every minute."""
POINTS = 100


def _datasets(setting: Setting) -> list[tuple[str, Stream]]:
    ln = [
        LogNormalStream(each.mu, each.sigma, size(setting), each.seed)
        for each in (lognormal(setting, 1), lognormal(setting, 2))
    ]
    return [
        ("WP-like", wikipedia(setting)),
        ("TW-like", twitter(setting)),
        ("LN1", ln[0]),
        ("LN2", ln[1]),
        *named_reals(setting),
    ]


def _fig4_cells(setting: Setting) -> list[Routed]:
    cells = []
    for name, stream in _datasets(setting):
        for n in WORKERS:
            cells.append(Routed(name, stream, "H", KeyGrouping(n)))
            cells.append(Routed(name, stream, "G", PartialKey(n, estimate="global"), 5))
            cells += [Routed(name, stream, f"L{s}", PartialKey(n), s) for s in SOURCES]
    return cells


def _fig4_claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for name, here in by_stream(rows):
        messages = float(here[0]["messages"])
        ratios, lower, gaps = [], [], []
        for n in WORKERS:
            oracle = the(here, "imbalance_average", workers=n, scheme="G")
            local = [the(here, "imbalance_average", workers=n, scheme=f"L{s}") for s in SOURCES]
            ratios.append(max(local) / max(oracle, 1 / messages))
            gaps.append(max(local) - min(local))
            lower.append(max(local) < the(here, "imbalance_average", workers=n, scheme="H"))
        close = max(ratios) < 10
        claims += [
            Claim(
                f"{name}: local estimation is within one order of magnitude of the oracle",
                "< 10 ×, and below hashing",
                f"at most {max(ratios):.1f} × at 5/10/50/100 workers; below hashing "
                f"{'always' if all(lower) else 'not always'}",
                close and all(lower),
                "" if close else f"5 to 20 rows instead of 1: {max(gaps):.1e} of the messages",
            ),
            Claim(
                f"{name}: the number of sources does not matter",
                "5, 10, 15, 20 alike",
                f"imbalances at most {max(gaps):.1e} of the messages apart",
                max(gaps) < 1e-4,
            ),
        ]
    return claims


def _fig4_plot(rows: Sequence[Row]) -> Plot:
    y = ("imbalance_average", "average imbalance / messages")
    panels = panels_per_stream(rows, "workers", "workers", y, log_x=True, floor=1e-8)
    return Plot(
        "Partial Key Grouping, Fig 4: global (G), local (L) estimation, hashing (H)",
        panels,
        columns=4,
    )


FIG4 = Figure(
    "4",
    "Local estimation beside an oracle",
    _fig4_cells,
    _fig4_claims,
    _fig4_plot,
    choices="The oracle's imbalance is taken as one row at least; the average is over 1,000 "
    "checkpoints.",
)


@dataclass(frozen=True, slots=True)
class OverTime:
    """The imbalance over time."""

    routed: Routed

    def measure(self) -> Sequence[Row]:
        """A row for each of a hundred checkpoints, as a share of the messages so far."""
        result = self.routed.run()
        kept = np.unique(np.linspace(0, result.checkpoints.size - 1, POINTS).astype(int))
        return [
            {
                "stream": self.routed.name,
                "scheme": self.routed.scheme,
                "workers": result.loads.size,
                "share": float(result.checkpoints[i] / result.messages),
                "imbalance": float(result.imbalances[i] / result.checkpoints[i]),
            }
            for i in kept
        ]


def _fig5_cells(setting: Setting) -> list[OverTime]:
    cells = []
    for name, stream in _datasets(setting):
        if name.startswith("LN"):
            continue
        for n in WORKERS:
            period = max(1, stream.messages // MINUTES)
            for scheme, partitioner in (
                ("G", PartialKey(n, estimate="global")),
                ("L5", PartialKey(n)),
                ("L5P1", PartialKey(n, estimate="probing", period=period)),
            ):
                cells.append(OverTime(Routed(name, stream, scheme, partitioner, sources=5)))
    return cells


def _fig5_claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for name, here in by_stream(rows):
        gain, text = [], []
        for n in WORKERS:
            local, probed = (
                at_the_end(where(here, workers=n, scheme=s), "imbalance") for s in ("L5", "L5P1")
            )
            gain.append(local - probed)
            text.append(f"{local:.1e}/{probed:.1e}")
        claims.append(
            Claim(
                f"{name}: probing the true loads does not help",
                "no better than local",
                f"imbalance L5/L5P1 at 5, 10, 50, 100 workers: {', '.join(text)}",
                max(gain) < 1e-4,
            )
        )
    return claims


def _fig5_plot(rows: Sequence[Row]) -> Plot:
    panels = [
        Panel(
            f"{name}, {n} workers",
            "share of the stream",
            "imbalance / messages so far",
            lines(where(here, workers=n), "share", "imbalance", points=False),
            log_y=True,
            floor=1e-8,
        )
        for name, here in by_stream(rows)
        for n in WORKERS
    ]
    return Plot(
        "Partial Key Grouping, Fig 5: imbalance through time", panels, columns=4, share_y=True
    )


FIG5 = Figure(
    "5",
    "Imbalance through time, and probing",
    _fig5_cells,
    _fig5_claims,
    _fig5_plot,
    choices="Probing comes 1,440 times a stream: WP is a day long and probed every minute.",
)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """How often sources that estimate loads locally disagree with an oracle."""

    exponent: float
    sources: int
    messages: int
    seed: int

    def measure(self) -> Sequence[Row]:
        """One row: 10k keys, 5 workers."""
        stream = ZipfStream(self.exponent, 10_000, self.messages, self.seed)
        local = Sources(PartialKey(5), self.sources)
        oracle = Sources(PartialKey(5, estimate="global"), self.sources)
        differ = 0
        loads = np.zeros(5, dtype=np.int64)
        for keys in stream.chunks():
            chosen = local.route(keys)
            loads += np.bincount(chosen, minlength=5)
            differ += int(np.count_nonzero(chosen != oracle.route(keys)))
        return [
            {
                "z": self.exponent,
                "scheme": f"S={self.sources}",
                "disagreement": 100 * differ / self.messages,
                "above_mean": float(loads.max() / loads.mean()) - 1,
            }
        ]


def _fig6_cells(setting: Setting) -> list[Disagreement]:
    step = 2 if setting.quick else 1
    return [
        Disagreement(round(0.1 * tenth, 1), sources, size(setting), setting.seed)
        for sources in (5, 10, 50, 100)
        for tenth in range(step, 13, step)
    ]


def _fig6_claims(rows: Sequence[Row]) -> list[Claim]:
    by_sources = {
        str(s): numbers(where(rows, scheme=s), "disagreement") for s in distinct(rows, "scheme")
    }
    falls = [rising(values[::-1], slack=0.05) for values in by_sources.values()]
    ends = "; ".join(f"{s} {v[0]:.0f} → {v[-1]:.0f} %" for s, v in by_sources.items())
    level = max(numbers(rows, "above_mean"))
    return [
        Claim(
            "local choices differ from the oracle's on many messages, fewer with more skew",
            "about half, falling with z",
            ends,
            all(falls) and min(v[0] for v in by_sources.values()) > 25,
        ),
        Claim(
            "the load is level nevertheless, for z < 1.2",
            "good balance",
            f"max/mean − 1 ≤ {level:.1e}",
            level < 0.01,
        ),
    ]


def _fig6_plot(rows: Sequence[Row]) -> Plot:
    panel = Panel("10k keys, 5 workers", "skew z", "disagreement, %",
                  lines(rows, "z", "disagreement"))  # fmt: skip
    return Plot("Partial Key Grouping, Fig 6: local choices beside the oracle's", [panel], 1)


FIG6 = Figure(
    "6",
    "How often local and global choices differ",
    _fig6_cells,
    _fig6_claims,
    _fig6_plot,
    choices="The oracle runs beside the sources on the same messages with loads of its own.",
)

FIGURES = (FIG4, FIG5, FIG6)
