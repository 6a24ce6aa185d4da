"""A decision tree that grows between the micro-batches of a stream.

    micro-batch ──> (leaf, class, feature, value) ──(feature: scheme)──> workers: histograms
         ^                                                                     |
         └── the tree, split where a leaf has had rows enough <── merged with those so far

Every row is seen once, by the tree that there is when it comes (paper on partial key grouping,
section 4.1, after Ben-Haim and Tom-Tov).
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import DataFrame

from unskew.errors import StateError
from unskew.sketches.streaming_histogram import StreamingHistogram
from unskew.streaming import BatchProgress
from unskew_lab.apps.contract import Scheme
from unskew_lab.apps.tree_growing import Histograms, Tree, Where, best_splits, local_histograms
from unskew_lab.apps.tree_histograms import BINS, gathered, messages, values_and_labels

LEAST = 100
"""Rows that a leaf must have had before it splits."""


@dataclass
class GrowingTree:
    """The aggregator: a tree, and the histograms of the leaves that may still split.

    When a leaf splits its histograms are dropped: what is known of the two below it starts with
    the rows that come next.
    """

    tree: Tree
    least: int = LEAST
    histograms: dict[Where, StreamingHistogram] = field(default_factory=dict)

    def learn(self, found: Histograms) -> None:
        """Merge the histograms of a micro-batch, then split the leaves that had rows enough."""
        for where, histogram in found.items():
            kept = self.histograms.get(where)
            self.histograms[where] = histogram if kept is None else kept.merge(histogram)
        splits = best_splits(self.histograms, self.least)
        self.tree = self.tree.split(splits)
        self.histograms = {
            where: each for where, each in self.histograms.items() if where[0] not in splits
        }


@dataclass
class TreeStream:
    """Grows a tree on a stream of rows, as `foreachBatch` of a query; it lives in the driver."""

    growing: GrowingTree
    scheme: Scheme
    workers: int
    bins: int = BINS
    progress: list[BatchProgress] = field(default_factory=list)
    merged: int = 0
    """Histograms of all batches, after merging those of the workers."""

    def process(self, batch: DataFrame, number: int) -> None:
        """Make histograms on the workers, merge them, and let the tree grow."""
        if number < len(self.progress):
            return  # Spark repeats a batch of whose end it has not heard.
        if number > len(self.progress):
            raise StateError(
                f"the query continues with batch {number}, and this tree has seen "
                f"{len(self.progress)} batches; use a new checkpoint"
            )
        started = time.perf_counter()
        sent = messages(batch, self.growing.tree)
        found = gathered(sent, self.scheme, self.workers, self.bins)
        self.growing.learn(found.histograms)
        self.merged += len(found.histograms)
        seconds = time.perf_counter() - started
        self.progress.append(
            BatchProgress.of(number, found.loads.tolist(), seconds, replicas=found.made)
        )

    def run(self, rows: DataFrame, checkpoint: str) -> Tree:
        """The tree after all rows of a stream."""
        writer = rows.writeStream.foreachBatch(self.process).trigger(availableNow=True)
        writer.option("checkpointLocation", checkpoint).start().awaitTermination()
        return self.growing.tree


def grown_alone(
    batches: Iterable[pa.Table], depth: int, bins: int = BINS, least: int = LEAST
) -> Tree:
    """The tree that one place grows from the same micro-batches."""
    growing = GrowingTree(Tree.root(depth), least)
    for batch in batches:
        values, labels = values_and_labels(batch)
        growing.learn(local_histograms(values, labels, growing.tree, 0, bins))
    return growing.tree
