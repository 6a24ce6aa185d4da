"""Figure 8: sources that get unequal parts of the stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from unskew.kernels import KeyHashes
from unskew.metrics import imbalance
from unskew.partitioners import KeyGrouping
from unskew.simulator.sources import Sources
from unskew.workloads import FileStream, Stream
from unskew_lab.papers.cells import real
from unskew_lab.papers.judging import DRAWS
from unskew_lab.papers.partial_key_grouping.estimation import pkg
from unskew_lab.papers.plot import Panel, Plot
from unskew_lab.papers.reading import by_stream, each_stream, lines, numbers, where
from unskew_lab.papers.specification import Claim, Figure, Row, Setting
from unskew_lab.papers.streams import exponent_for, size, zipf

WORKERS = (5, 10, 50, 100)
SOURCES = (5, 10, 15, 20)
VERTICES = 100_000
LIVEJOURNAL_TOP = 0.0029


@dataclass(frozen=True, slots=True)
class Edges:
    """Edges of a graph: the source vertex picks who routes, the target vertex is the key."""

    name: str
    senders: Stream
    targets: Stream
    workers: int
    sources: int
    skewed: bool

    def measure(self) -> Sequence[Row]:
        """One row: the imbalance at the end."""
        loads = np.zeros(self.workers, dtype=np.int64)
        for workers in self._skewed() if self.skewed else self._uniform():
            loads += np.bincount(workers, minlength=self.workers)
        return [
            {
                "stream": self.name,
                "workers": self.workers,
                "sources": self.sources,
                "split": "skewed" if self.skewed else "uniform",
                "scheme": f"{'skewed' if self.skewed else 'uniform'}, {self.sources} sources",
                "imbalance": imbalance(loads),
            }
        ]

    def _uniform(self) -> Iterator[np.ndarray]:
        routing = Sources(pkg(self.workers), self.sources)
        for keys in self.targets.chunks():
            yield routing.route(keys)

    def _skewed(self) -> Iterator[np.ndarray]:
        """Every source routes the edges of its own vertices, whose number differs."""
        routers = [pkg(self.workers).router(s, self.sources) for s in range(self.sources)]
        split = KeyGrouping(self.sources).router()
        for vertices, keys in zip(self.senders.chunks(), self.targets.chunks(), strict=True):
            sender = split.route(vertices)
            for source, router in enumerate(routers):
                mine: KeyHashes = keys[sender == source]
                yield router.route(mine)


def _edges(name: str, senders: Stream, targets: Stream) -> list[Edges]:
    return [
        Edges(name, senders, targets, n, sources, skewed)
        for n in WORKERS
        for sources in SOURCES
        for skewed in (False, True)
    ]


def _fig8_cells(setting: Setting) -> list[Edges]:
    messages = size(setting, quick=500_000)
    senders = zipf(replace(setting, seed=setting.seed + 2**20), 0.8, VERTICES, messages)
    targets = zipf(setting, exponent_for(LIVEJOURNAL_TOP, VERTICES), VERTICES, messages)
    return _edges("LJ-like", senders, targets)


def _fig8_real(setting: Setting) -> dict[str, list[Edges]]:
    return {
        path.stem: _edges(path.stem, FileStream(path, ("value",)), real(path))
        for path in setting.streams()
        if path.stem == "slashdot0902_edges"
    }


def _fig8_of(name: str, here: Sequence[Row]) -> list[Claim]:
    means = {
        split: [
            float(np.mean(numbers(where(here, split=split, workers=n), "imbalance")))
            for n in WORKERS
        ]
        for split in ("skewed", "uniform")
    }
    beside = [a / max(b, 1e-12) for a, b in zip(*means.values(), strict=True)]
    highest = max(numbers(where(here, split="skewed"), "imbalance"))
    return [
        Claim(
            "sources fed by key are as good as sources fed in turn",
            "similar, very low",
            f"{', '.join(f'{each:.1f}' for each in beside)} × the imbalance at 5, 10, 50, 100 "
            f"workers, never above {highest:.1e}",
            max(beside) <= 3 and highest <= 1e-3,
            "similar and higher by rows: sources that get more send more of the difference",
            value=max(beside),
        )
    ]


def _fig8_plot(rows: Sequence[Row]) -> Plot:
    panels = [
        Panel(
            f"{name}, {n} workers",
            "sources",
            "imbalance / messages",
            lines(where(here, workers=n), "sources", "imbalance", by="split"),
            log_y=True,
            floor=1e-8,
        )
        for name, here in by_stream(rows)
        for n in WORKERS
    ]
    return Plot(
        "Partial Key Grouping, Fig 8: sources with unequal parts", panels, columns=4, share_y=True
    )


FIG8 = Figure(
    "8",
    "Skewed sources",
    _fig8_cells,
    lambda rows: each_stream(rows, _fig8_of),
    _fig8_plot,
    choices="LiveJournal is 69M edges; a graph with Zipf out-degrees (z = 0.8) and in-degrees with "
    "its p₁ of 0.29 % stands in, and beside it Slashdot0902 where the data folder has it.",
    draws=DRAWS,
    real=_fig8_real,
)

FIGURES = (FIG8,)
