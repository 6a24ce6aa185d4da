"""A tree that grows between micro-batches is the same on one worker and on many."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import datasets

from unskew.errors import StateError
from unskew_lab.apps import decision_tree
from unskew_lab.apps.running import Runner
from unskew_lab.apps.tree_growing import Tree, grow, local_histograms
from unskew_lab.apps.tree_streaming import GrowingTree, TreeStream, grown_alone

BINS = 256
"""More than there are values, so that merging is exact."""


def table_of(values, labels) -> pa.Table:
    features = pa.array(np.asarray(values, dtype=float).tolist(), pa.list_(pa.float64()))
    return pa.table({"features": features, "label": np.asarray(labels).astype(str).tolist()})


def assert_same_tree(found, wanted):
    np.testing.assert_array_equal(found.features, wanted.features)
    np.testing.assert_array_equal(found.thresholds, wanted.thresholds)


def merged(parts):
    """The histograms of several workers as the aggregator merges them."""
    found = {}
    for part in parts:
        for where, each in part.items():
            found[where] = found[where].merge(each) if where in found else each
    return found


ROWS = st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from("ab"), st.integers(0, 2))


@settings(max_examples=40)
@given(
    batches=st.lists(st.lists(ROWS, min_size=1, max_size=30), max_size=5), least=st.integers(0, 20)
)
def test_rows_may_be_on_any_worker(batches, least):
    growing = GrowingTree(Tree.root(3), least)
    for rows in batches:
        values = np.array([row[:2] for row in rows], dtype=float)
        labels, workers = np.array([row[2] for row in rows]), np.array([row[3] for row in rows])
        growing.learn(
            merged(
                local_histograms(
                    values[workers == each], labels[workers == each], growing.tree, 0, BINS
                )
                for each in range(3)
            )
        )
    tables = [table_of([row[:2] for row in rows], [row[2] for row in rows]) for rows in batches]
    assert_same_tree(growing.tree, grown_alone(tables, 3, BINS, least))


@pytest.mark.parametrize("load", [datasets.load_wine, datasets.load_breast_cancer])
def test_a_table_that_comes_once_for_each_level_gives_the_tree_of_the_table(load):
    values, labels = load(return_X_y=True)
    labels = labels.astype(str)
    alone = grow(3, lambda tree, level: local_histograms(values, labels, tree, level, 1024))
    found = grown_alone([table_of(values, labels)] * 3, 3, bins=1024, least=0)
    assert (alone.features >= 0).sum() > 3
    assert_same_tree(found, alone)


def test_a_leaf_splits_when_it_has_had_rows_enough():
    batch = table_of([[0.0], [1.0]] * 5, ["a", "b"] * 5)
    values, labels = np.array([[0.0], [1.0]] * 5), np.array(["a", "b"] * 5)
    growing = GrowingTree(Tree.root(2), least=20)
    seen = []
    for _ in range(3):
        growing.learn(local_histograms(values, labels, growing.tree, 0, BINS))
        seen.append((int(growing.tree.features[0]), len(growing.histograms)))
    # Rows of before a split say nothing of the leaves below it, which are pure.
    assert seen == [(-1, 2), (0, 0), (0, 2)]
    assert grown_alone([batch] * 3, 2, BINS, least=31).features.max() == -1


@pytest.mark.spark
def test_trees_of_spark_are_the_tree_of_one_place(spark):
    values, labels = datasets.load_wine(return_X_y=True)
    order = np.random.default_rng(0).permutation(labels.size)
    batches = [table_of(values[part, :4], labels[part]) for part in np.array_split(order, 4)]
    batches.insert(2, batches[0].slice(0, 0))
    alone = grown_alone(batches, 2, BINS, least=30)
    assert (alone.features >= 0).sum() >= 2
    for scheme, workers, replicas in (("kg", 1, 1), ("pkg", 3, 2), ("sg", 3, 3)):
        learning = TreeStream(GrowingTree(Tree.root(2), least=30), scheme, workers, BINS)
        for number, batch in enumerate(batches):
            rows = spark.createDataFrame(batch)
            learning.process(rows, number)
            learning.process(rows, number)  # Spark had not heard of its end.
        assert_same_tree(learning.growing.tree, alone)
        made = sum(record.replicas for record in learning.progress)
        assert learning.merged <= made <= replicas * learning.merged
        assert learning.progress[0].rows == batches[0].num_rows * 4
        assert len(learning.progress) == 5
    with pytest.raises(StateError, match="continues with batch 9, and this tree has seen 5"):
        learning.process(rows, 9)


@pytest.mark.spark
@pytest.mark.classic("the tree of a query is the driver's")
@pytest.mark.parametrize("scheme", ["pkg", "sg"])
def test_a_run_on_a_stream_is_compared_with_a_stream_in_one_place(spark, tmp_path, scheme):
    rows = decision_tree.random_table(spark).limit(900)
    runner = Runner(decision_tree.APP, rows, workers=3, batches=3, folder=tmp_path)
    found = runner.run(scheme)
    assert found.matches_reference
    assert found.batches == 3
    assert found.answer.figures["accuracy"] > 0.5
    assert found.answer.figures["histograms"] <= found.answer.figures["at most, by the formula"]
    assert sum(row["rows"] for row in found.answer.rows) == 900
    batch = Runner(decision_tree.APP, rows, workers=3)
    assert batch.reference != runner.reference
