"""Trees from histograms are as good as scikit-learn's, and few replicas mean few histograms."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from sklearn import datasets
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from unskew.errors import InputError
from unskew_lab.apps import decision_tree as app
from unskew_lab.apps.tree_growing import Tree, grow, local_histograms

DATA = {"breast cancer": datasets.load_breast_cancer, "wine": datasets.load_wine}


def labelled(values, labels, tree) -> dict[int, str]:
    """The most frequent class of each leaf."""
    leaves = tree.leaves(values).tolist()
    return {
        leaf: Counter(labels[np.array(leaves) == leaf].tolist()).most_common(1)[0][0]
        for leaf in set(leaves)
    }


@pytest.mark.parametrize("name", DATA)
def test_as_accurate_as_the_tree_of_scikit_learn(name):
    values, labels = DATA[name](return_X_y=True)
    labels = labels.astype(str)
    ours, theirs = [], []
    for learn, test in StratifiedKFold(10, shuffle=True, random_state=0).split(values, labels):
        x, y = values[learn], labels[learn]
        tree = grow(4, lambda tree, level, x=x, y=y: local_histograms(x, y, tree, level, app.BINS))
        names = labelled(x, y, tree)
        found = [names.get(leaf, y[0]) for leaf in tree.leaves(values[test]).tolist()]
        ours.append(np.mean(np.array(found) == labels[test]))
        known = DecisionTreeClassifier(max_depth=4, random_state=0).fit(x, y)
        theirs.append(known.score(values[test], labels[test]))
    assert np.mean(ours) >= np.mean(theirs) - 0.01


def test_a_tree_asks_from_the_root_down():
    values = np.array([[0.0, 5.0], [2.0, 5.0], [2.0, 7.0]])
    labels = np.array(["a", "b", "c"])
    tree = grow(2, lambda tree, level: local_histograms(values, labels, tree, level, bins=8))
    assert len(set(tree.leaves(values).tolist())) == 3
    assert Tree.root(2).leaves(values).tolist() == [0, 0, 0]


def test_a_pure_leaf_is_not_split():
    values, labels = np.array([[0.0], [1.0]]), np.array(["a", "a"])
    tree = grow(3, lambda tree, level: local_histograms(values, labels, tree, level, bins=8))
    assert tree.leaves(values).tolist() == [0, 0]


@pytest.mark.spark
def test_the_tree_of_spark_is_the_tree_of_one_place(spark):
    values, labels = datasets.load_wine(return_X_y=True)
    values, labels = values[:, :4], labels.astype(str)
    columns = {f"f{number}": values[:, number] for number in range(4)}
    rows = app.prepared(spark.createDataFrame(pa.table({**columns, "label": labels.tolist()})))
    # With a bin for every value merging is exact, and the trees must be the very same.
    alone = grow(2, lambda tree, level: local_histograms(values, labels, tree, level, bins=256))
    for scheme, replicas in (("pkg", 2), ("sg", 3)):
        learning = app.TreeLearner(rows, scheme, workers=3, bins=256)
        tree = learning.tree(depth=2)
        np.testing.assert_array_equal(tree.features, alone.features)
        np.testing.assert_allclose(tree.thresholds, alone.thresholds)
        assert learning.merged < learning.made <= replicas * learning.merged
        assert learning.loads.sum() >= values.size
    counted = app.labels_of_leaves(rows, alone)
    assert {leaf: counts.most_common(1)[0][0] for leaf, counts in counted.items()} == labelled(
        values, labels, alone
    )


@pytest.mark.spark
def test_a_table_without_numbers_is_refused(spark):
    with pytest.raises(InputError, match="needs numeric columns"):
        app.prepared(spark.createDataFrame([("a", "b")], "name string, label string"))
