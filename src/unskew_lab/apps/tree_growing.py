"""A decision tree that grows level by level from histograms of any origin."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from unskew.sketches.streaming_histogram import StreamingHistogram

Floats: TypeAlias = NDArray[np.float64]
Where: TypeAlias = tuple[int, int, str]
"""Leaf, feature, label."""
Histograms: TypeAlias = Mapping[Where, StreamingHistogram]

_LEAF = -1


@dataclass(frozen=True)
class Tree:
    """A binary tree in one array: below node i are 2i + 1 (at most the threshold) and 2i + 2."""

    features: NDArray[np.int32]
    """The feature that a node asks about, or -1 for a leaf."""
    thresholds: Floats
    depth: int

    @classmethod
    def root(cls, depth: int) -> Tree:
        """A tree of one leaf that may grow to `depth`."""
        nodes = 2 ** (depth + 1) - 1
        return cls(np.full(nodes, _LEAF, dtype=np.int32), np.zeros(nodes), depth)

    def leaves(self, rows: Floats) -> NDArray[np.int64]:
        """The leaf of every row, one row of features each."""
        nodes = np.zeros(len(rows), dtype=np.int64)
        for _ in range(self.depth):
            asked = self.features[nodes]
            values = rows[np.arange(len(rows)), np.maximum(asked, 0)]
            below = 2 * nodes + np.where(values <= self.thresholds[nodes], 1, 2)
            nodes = np.where(asked == _LEAF, nodes, below)
        return nodes

    def may_split(self, leaves: NDArray[np.int64], level: int = 0) -> NDArray[np.bool_]:
        """Which leaves are on `level` or below it, and not yet as deep as the tree may get."""
        return (leaves >= first_of(level)) & (leaves < first_of(self.depth))

    def split(self, splits: Mapping[int, Split]) -> Tree:
        """The tree with two leaves in place of each of some leaves."""
        features, thresholds = self.features.copy(), self.thresholds.copy()
        for leaf, split in splits.items():
            features[leaf], thresholds[leaf] = split.feature, split.threshold
        return Tree(features, thresholds, self.depth)


class Split(NamedTuple):
    """The feature and threshold of a node, and how much purer they make the classes."""

    feature: int
    threshold: float
    gain: float


def grow(depth: int, histograms: Callable[[Tree, int], Histograms]) -> Tree:
    """Split level by level. `histograms` gives those of all rows that are at a leaf of a level."""
    tree = Tree.root(depth)
    for level in range(depth):
        splits = best_splits(histograms(tree, level))
        if not splits:
            break
        tree = tree.split(splits)
    return tree


def first_of(level: int) -> int:
    """The first node of a level; all nodes before it are split or final leaves.

    >>> [first_of(level) for level in range(3)]
    [0, 1, 3]
    """
    return (1 << level) - 1


def best_splits(histograms: Histograms, least: int = 0) -> dict[int, Split]:
    """The best split of each leaf that has had `least` rows, where there is one that helps."""
    by_leaf: dict[int, dict[Where, StreamingHistogram]] = defaultdict(dict)
    for where, histogram in histograms.items():
        by_leaf[where[0]][where] = histogram
    ripe = {leaf: found for leaf, found in by_leaf.items() if _rows(found) >= least}
    splits = {leaf: best_split(found) for leaf, found in ripe.items()}
    return {leaf: split for leaf, split in splits.items() if split is not None}


def _rows(histograms: Histograms) -> float:
    """The rows of a leaf: each of them is in one histogram of every feature."""
    any_feature = min(feature for _, feature, _ in histograms)
    return sum(each.total for where, each in histograms.items() if where[1] == any_feature)


def best_split(histograms: Histograms) -> Split | None:
    """The split of one leaf that makes the classes purest, or None where none helps."""
    by_feature: dict[int, list[StreamingHistogram]] = defaultdict(list)
    for _, feature, label in sorted(histograms):
        by_feature[feature].append(histograms[_, feature, label])
    found = [_best_threshold(feature, classes) for feature, classes in by_feature.items()]
    best = max(found, key=lambda split: (split.gain, -split.feature), default=None)
    return best if best is not None and best.gain > 1e-9 else None


def _best_threshold(feature: int, classes: list[StreamingHistogram]) -> Split:
    """Try a threshold between any two bins of all classes together."""
    points = np.unique(np.concatenate([each.points for each in classes]))
    candidates = (points[:-1] + points[1:]) / 2
    if candidates.size == 0:
        return Split(feature, 0.0, 0.0)
    left = np.array([each.below(candidates) for each in classes])
    totals = np.array([[each.total] for each in classes])
    gains = _gini(totals) - _gini(left) - _gini(totals - left)
    at = int(np.argmax(gains))
    return Split(feature, float(candidates[at]), float(gains[at]))


def _gini(counts: Floats) -> Floats:
    """Gini impurity times rows, for every column of counts by class."""
    rows = np.maximum(counts.sum(axis=0), 1e-12)
    impurity: Floats = rows - (counts**2).sum(axis=0) / rows
    return impurity


def local_histograms(
    rows: Floats, labels: NDArray[np.str_], tree: Tree, level: int, bins: int
) -> dict[Where, StreamingHistogram]:
    """The histograms of all rows at a leaf of `level` or below, computed locally."""
    leaves = tree.leaves(rows)
    made: dict[Where, StreamingHistogram] = {}
    for leaf in np.unique(leaves[tree.may_split(leaves, level)]).tolist():
        for label in np.unique(labels[leaves == leaf]).tolist():
            for feature in range(rows.shape[1]):
                histogram = made[leaf, feature, label] = StreamingHistogram(bins)
                histogram.add(rows[(leaves == leaf) & (labels == label), feature])
    return made
