"""A parallel decision tree: histograms of each feature, class and leaf, spread by feature, merged.

    rows ──> (leaf, class, feature, value) ──(feature: scheme)──> workers: histograms
      ^                                                                 |
      └──── the tree, one level deeper <── best splits <── merge by (leaf, feature, class)

With D features, C classes and L leaves there are at most r·D·C·L histograms, where r is the number
of workers that a feature may be on: 1 for key grouping, 2 for partial key grouping and all of them
for shuffle grouping (paper on partial key grouping, section 4.1). Every level is one pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import unskew
from unskew.errors import InputError
from unskew.sketches.streaming_histogram import StreamingHistogram
from unskew_lab.apps.contract import Answer, App, Scheme
from unskew_lab.apps.placement import by_key, prepare_scheme
from unskew_lab.apps.tree_growing import (
    Floats,
    Histograms,
    Tree,
    Where,
    first_of,
    grow,
    local_histograms,
)

DEPTH = 4
BINS = 64
MESSAGE = "leaf int, label string, feature int, value double"
HISTOGRAM = (
    "worker int, leaf int, feature int, label string, points array<double>, masses array<double>"
)
Batches = Iterable[pa.RecordBatch]
OfBatches = Callable[[Batches], Iterator[pa.RecordBatch]]


class TreeLearner:
    """Grows one tree and counts what the workers held."""

    def __init__(self, rows: DataFrame, scheme: Scheme, workers: int, bins: int = BINS) -> None:
        self.rows, self.scheme, self.workers, self.bins = rows, scheme, workers, bins
        self.loads = np.zeros(workers)
        self.made = 0
        """Histograms that workers made, over all levels."""
        self.merged = 0
        """Histograms after merging them: D·C·L, as far as a leaf has rows of a class."""

    def tree(self, depth: int = DEPTH) -> Tree:
        """Grow the tree, with one Spark job for each level."""
        return grow(depth, self._histograms)

    def _histograms(self, tree: Tree, level: int) -> Histograms:
        sent = messages(self.rows, tree, level)
        placed = by_key(sent, "feature", self.scheme, self.workers)
        found: dict[Where, list[StreamingHistogram]] = {}
        for row in placed.mapInArrow(histograms(self.bins), HISTOGRAM).collect():
            masses = np.array(row["masses"])
            histogram = StreamingHistogram.of(np.array(row["points"]), masses, self.bins)
            found.setdefault((row["leaf"], row["feature"], row["label"]), []).append(histogram)
            self.loads[row["worker"]] += masses.sum()
            self.made += 1
        self.merged += len(found)
        return {
            where: reduce(StreamingHistogram.merge, parts[1:], parts[0])
            for where, parts in found.items()
        }


def messages(rows: DataFrame, tree: Tree, level: int = 0) -> DataFrame:
    """One message for each feature of every row that is at a leaf of `level`."""

    def sent(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            values = _matrix(batch.column("features"))
            leaves = tree.leaves(values)
            open_ = np.flatnonzero(leaves >= first_of(level))
            features = values.shape[1]
            labels = batch.column("label").take(pa.array(np.repeat(open_, features)))
            yield pa.record_batch(
                {
                    "leaf": np.repeat(leaves[open_], features).astype(np.int32),
                    "label": labels,
                    "feature": np.tile(np.arange(features, dtype=np.int32), open_.size),
                    "value": values[open_].ravel(),
                }
            )

    return rows.mapInArrow(sent, MESSAGE)


def histograms(bins: int) -> OfBatches:
    """A function from a worker's messages to its histograms."""

    def made(batches: Batches) -> Iterator[pa.RecordBatch]:
        kept: dict[Where, StreamingHistogram] = {}
        for batch in batches:
            grouped = pa.Table.from_batches([batch]).group_by(["leaf", "feature", "label"])
            for row in grouped.aggregate([("value", "list")]).to_pylist():
                where = (row["leaf"], row["feature"], row["label"])
                histogram = kept.setdefault(where, StreamingHistogram(bins))
                histogram.add(np.array(row["value_list"], dtype=np.float64))
        yield _as_batch(kept)

    return made


def _as_batch(kept: dict[Where, StreamingHistogram]) -> pa.RecordBatch:
    context = TaskContext.get()
    worker = context.partitionId() if context else 0
    return pa.record_batch(
        {
            "worker": pa.array([worker] * len(kept), pa.int32()),
            "leaf": pa.array([leaf for leaf, _, _ in kept], pa.int32()),
            "feature": pa.array([feature for _, feature, _ in kept], pa.int32()),
            "label": pa.array([label for _, _, label in kept], pa.string()),
            "points": pa.array([h.points.tolist() for h in kept.values()], _NUMBERS),
            "masses": pa.array([h.masses.tolist() for h in kept.values()], _NUMBERS),
        }
    )


_NUMBERS = pa.list_(pa.float64())


def _matrix(features: pa.ListArray) -> Floats:
    found: Floats = np.array(features.to_pylist(), dtype=np.float64)
    return found if len(features) else np.empty((0, 1))


def labels_of_leaves(rows: DataFrame, tree: Tree) -> dict[int, Counter[str]]:
    """How many rows of each class every leaf has."""

    def at_leaf(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            leaves = tree.leaves(_matrix(batch.column("features"))).astype(np.int32)
            yield pa.record_batch({"leaf": leaves, "label": batch.column("label")})

    counted: dict[int, Counter[str]] = {}
    reached = rows.mapInArrow(at_leaf, "leaf int, label string")
    counts = unskew.groupBy(reached, "leaf", "label").agg(rows=unskew.count())
    for leaf, label, count in counts.collect():
        counted.setdefault(leaf, Counter())[label] = count
    return counted


def prepared(table: DataFrame) -> DataFrame:
    """All numeric columns except `label` as one array, without rows that have a null or NaN."""
    numbers = ("int", "bigint", "smallint", "tinyint", "float", "double")
    names = [
        name
        for name, kind in table.dtypes
        if name != "label" and (kind in numbers or kind.startswith("decimal"))
    ]
    if not names:
        raise InputError("decision-tree needs numeric columns besides 'label'; the input has none")
    values = [F.col(f"`{name}`").cast("double") for name in names]
    finite = reduce(
        lambda a, b: a & b, [F.coalesce(~F.isnan(value), F.lit(False)) for value in values]
    )
    label = F.col("label").cast("string").alias("label")
    return table.where(finite & F.col("label").isNotNull()).select(
        F.array(*values).alias("features"), label
    )


def _run(rows: DataFrame, scheme: Scheme, workers: int) -> Answer:
    how, replicas = prepare_scheme(messages(rows, Tree.root(DEPTH)), "feature", scheme, workers)
    learning = TreeLearner(rows, how, workers)
    tree = learning.tree()
    leaves = labels_of_leaves(rows, tree)
    figures = {
        "accuracy": _accuracy(leaves),
        "histograms": learning.made,
        "at most, by the formula": replicas * learning.merged,
    }
    return Answer(_in_rows(leaves), figures, learning.loads, learning.made)


def _accuracy(leaves: dict[int, Counter[str]]) -> float:
    right = sum(max(counts.values()) for counts in leaves.values())
    return right / max(sum(counts.total() for counts in leaves.values()), 1)


def _in_rows(leaves: dict[int, Counter[str]]) -> list[dict[str, Any]]:
    found = [
        {"leaf": leaf, "label": counts.most_common(1)[0][0], "rows": counts.total()}
        for leaf, counts in leaves.items()
    ]
    return sorted(found, key=lambda row: (-row["rows"], row["leaf"]))


def _alone(rows: DataFrame) -> float:
    """The accuracy of a tree grown in one place from the same rows."""
    table = rows.toArrow()
    values, labels = (
        _matrix(table["features"].combine_chunks()),
        np.array(table["label"].to_pylist()),
    )
    tree = grow(DEPTH, lambda tree, level: local_histograms(values, labels, tree, level, BINS))
    return _accuracy(_count(tree.leaves(values), labels))


def _count(leaves: NDArray[np.int64], labels: NDArray[np.str_]) -> dict[int, Counter[str]]:
    counted: dict[int, Counter[str]] = {}
    for leaf, label in zip(leaves.tolist(), labels.tolist(), strict=True):
        counted.setdefault(leaf, Counter())[label] += 1
    return counted


def random_table(spark: SparkSession) -> DataFrame:
    """2,000 rows of eight features in three classes that overlap."""
    random = np.random.default_rng(42)
    label = np.arange(2_000) % 3
    values = random.normal(size=(2_000, 8)) + label[:, None] * np.linspace(0, 2, 8)
    columns = {f"f{number}": values[:, number] for number in range(8)}
    names = np.array(["low", "middle", "high"])[label].tolist()
    return spark.createDataFrame(pa.table({**columns, "label": names}))


APP = App(
    name="decision-tree",
    key=("feature",),
    columns=("label",),
    need=unskew.Need.ANY_ROW,
    schemes=("pkg", "kg", "sg"),
    generate=random_table,
    prepare=prepared,
    routed=lambda rows: messages(rows, Tree.root(DEPTH)),
    run=_run,
    reference=_alone,
    agrees=lambda answer, alone: float(answer.figures["accuracy"]) >= alone - 0.01,
)
