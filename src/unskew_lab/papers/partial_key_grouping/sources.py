"""Figure 8: sources that get unequal parts of the stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from unskew.kernels import KeyHashes
from unskew.metrics import imbalance
from unskew.partitioners import KeyGrouping, PartialKey
from unskew.simulator.sources import Sources
from unskew.workloads import FileStream, Stream, ZipfStream
from unskew_lab.papers.cells import real
from unskew_lab.papers.plot import Panel, Plot
from unskew_lab.papers.reading import by_stream, lines, numbers, the, where
from unskew_lab.papers.specification import Claim, Figure, Row, Setting
from unskew_lab.papers.streams import size

WORKERS = (5, 10, 50, 100)
SOURCES = (5, 10, 15, 20)


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
        routing = Sources(PartialKey(self.workers), self.sources)
        for keys in self.targets.chunks():
            yield routing.route(keys)

    def _skewed(self) -> Iterator[np.ndarray]:
        """Every source routes the edges of its own vertices, whose number differs."""
        routers = [PartialKey(self.workers).router(s, self.sources) for s in range(self.sources)]
        split = KeyGrouping(self.sources).router()
        for vertices, keys in zip(self.senders.chunks(), self.targets.chunks(), strict=True):
            sender = split.route(vertices)
            for source, router in enumerate(routers):
                mine: KeyHashes = keys[sender == source]
                yield router.route(mine)


def _fig8_cells(setting: Setting) -> list[Edges]:
    messages = size(setting)
    graphs: list[tuple[str, Stream, Stream]] = [
        (
            "graph with Zipf degrees",
            ZipfStream(0.8, 100_000, messages, setting.seed + 1),
            ZipfStream(0.9, 100_000, messages, setting.seed),
        )
    ]
    graphs += [
        (path.stem, FileStream(path, ("value",)), real(path))
        for path in setting.streams()
        if path.stem == "slashdot0902_edges"
    ]
    return [
        Edges(name, senders, targets, n, sources, skewed)
        for name, senders, targets in graphs
        for n in WORKERS
        for sources in SOURCES
        for skewed in (False, True)
    ]


def _fig8_claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for name, here in by_stream(rows):
        skewed, uniform = where(here, split="skewed"), where(here, split="uniform")
        excess = [
            the(skewed, "imbalance", workers=n, sources=s)
            - the(uniform, "imbalance", workers=n, sources=s)
            for n in WORKERS
            for s in SOURCES
        ]
        highest = max(numbers(skewed, "imbalance"))
        claims.append(
            Claim(
                f"{name}: sources fed by key are as good as sources fed in turn",
                "no effect, very low",
                f"imbalance at most {max(excess):.1e} higher, never above {highest:.1e}",
                max(excess) < 1e-3,
            )
        )
    return claims


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
    _fig8_claims,
    _fig8_plot,
    choices="LiveJournal is 69M edges; a graph with Zipf out-degrees (z = 0.8) and in-degrees "
    "(z = 0.9) stands in, and Slashdot0902 where the data folder has it.",
)

FIGURES = (FIG8,)
