"""A parallel decision tree: histograms of each feature, class and leaf, spread by feature, merged.

    rows ──> (leaf, class, feature, value) ──(feature: scheme)──> workers: histograms
      ^                                                                 |
      └──── the tree, one level deeper <── best splits <── merge by (leaf, feature, class)

With D features, C classes and L leaves there are at most r·D·C·L histograms, where r is the number
of workers that a feature may be on: 1 for key grouping, 2 for partial key grouping and all of them
for shuffle grouping (paper on partial key grouping, section 4.1). Every level is one pass;
on a stream the tree grows between micro-batches (`tree_streaming`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import unskew
from unskew.errors import InputError
from unskew_lab.apps.contract import Answer, App, Scheme
from unskew_lab.apps.placement import prepare_scheme
from unskew_lab.apps.replaying import Replay
from unskew_lab.apps.tree_growing import Histograms, Tree, grow, local_histograms
from unskew_lab.apps.tree_histograms import (
    BINS,
    gathered,
    matrix,
    messages,
    values_and_labels,
)
from unskew_lab.apps.tree_streaming import GrowingTree, TreeStream, grown_alone

DEPTH = 4


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
        found = gathered(sent, self.scheme, self.workers, self.bins)
        self.loads += found.loads
        self.made += found.made
        self.merged += len(found.histograms)
        return found.histograms


def labels_of_leaves(rows: DataFrame, tree: Tree) -> dict[int, Counter[str]]:
    """How many rows of each class every leaf has."""

    def at_leaf(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            leaves = tree.leaves(matrix(batch.column("features"))).astype(np.int32)
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
    found = _answer(rows, tree, learning.made, replicas * learning.merged)
    return replace(found, loads=learning.loads, replicas=learning.made)


def _stream(rows: Replay, scheme: Scheme, workers: int) -> Answer:
    root = Tree.root(DEPTH)
    how, replicas = prepare_scheme(messages(rows.rows, root), "feature", scheme, workers)
    learning = TreeStream(GrowingTree(root), how, workers)
    tree = learning.run(rows.stream(), rows.scratch())
    made = sum(each.replicas or 0 for each in learning.progress)
    found = _answer(rows.rows, tree, made, replicas * learning.merged)
    return replace(found, batches=learning.progress)


def _answer(rows: DataFrame, tree: Tree, made: int, at_most: int) -> Answer:
    leaves = labels_of_leaves(rows, tree)
    figures = {
        "accuracy": _accuracy(leaves),
        "histograms": made,
        "at most, by the formula": at_most,
    }
    return Answer(_in_rows(leaves), figures)


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
    values, labels = values_and_labels(rows.toArrow())
    tree = grow(DEPTH, lambda tree, level: local_histograms(values, labels, tree, level, BINS))
    return _accuracy(_count(tree.leaves(values), labels))


def _alone_on_stream(rows: Replay) -> float:
    """The accuracy of a tree grown in one place from the same micro-batches."""
    tables = rows.tables()
    tree = grown_alone(tables, DEPTH)
    values, labels = values_and_labels(pa.concat_tables(tables))
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
    stream=_stream,
    reference=_alone,
    stream_reference=_alone_on_stream,
    agrees=lambda answer, alone: float(answer.figures["accuracy"]) >= alone - 0.01,
)
