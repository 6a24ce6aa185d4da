"""Group functions with awkward names and settings: the rows of plain Spark, or its error."""

from __future__ import annotations

from collections import Counter

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

import unskew

pytestmark = pytest.mark.spark

NAMES = {
    "odd": ("*", "n", "a.b", "a", "a`b", "`", "select", " "),
    "taken": ("k", "id", "__unskew_worker", "__unskew_key0"),
}
"""Of the columns of a result."""


def schema(names):
    return ", ".join(f"`{name.replace('`', '``')}` bigint" for name in names)


def in_arrow(names):
    """A function of a group, and how its results merge: the sum of the ids, and how many."""

    def work(table: pa.Table) -> pa.Table:
        total = sum(table.column(table.num_columns - 1).to_pylist())
        found = [[total], [table.num_rows]] * (len(names) // 2)
        return pa.table(found, names=list(names))

    def merge(parts: pa.Table) -> pa.Table:
        return pa.table([[sum(each.to_pylist())] for each in parts.columns], names=list(names))

    return work, merge


def in_pandas(names):
    def work(rows: pd.DataFrame) -> pd.DataFrame:
        found = [rows.iloc[:, -1].sum(), len(rows)] * (len(names) // 2)
        return pd.DataFrame([found], columns=list(names))

    def merge(parts: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame([list(parts.sum())], columns=list(names))

    return work, merge


VERBS = {
    "applyInArrow": (in_arrow, ("kg", "planned-split", "pkg")),
    "applyInPandas": (in_pandas, ("kg", "planned-split")),
}


def together(left: pa.Table, right: pa.Table) -> pa.Table:
    return pa.table({"l": [left.num_rows], "r": [right.num_rows]})


def counted(rows):
    named = rows.toDF(*(f"c{place}" for place in range(len(rows.columns))))
    return Counter(map(tuple, named.collect()))


@pytest.fixture
def setting(spark):
    changed = []

    def change(name, value):
        changed.append(name)
        spark.conf.set(name, value)

    yield change
    for name in changed:
        spark.conf.unset(name)


@pytest.fixture
def rows(spark):
    ids = spark.range(0, 60, 1, 2)
    key = F.when(F.col("id") % 3 > 0, F.lit(7)).otherwise(F.col("id"))
    return ids.select(key.alias("k"), F.col("id").alias("id")).repartition(2, "id")


def check_groups(rows, key, names, like=None):
    """Against plain Spark; on rows `like` these where it cannot name the columns."""
    by = (rows if like is None else like).groupBy(key)
    for verb, (made, schemes) in VERBS.items():
        work, merge = made(names)
        plain = getattr(by, verb)(work, schema(names))
        wanted = counted(plain)
        for scheme in schemes:
            grouped = unskew.groupBy(rows, key, workers=3, scheme=scheme)
            ours = getattr(grouped, verb)(work, schema(names), merge=merge)
            assert ours.columns == plain.columns
            assert counted(ours) == wanted


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
def test_names_of_results(rows, names):
    check_groups(rows, "k", names)


def test_results_named_like_the_key(rows):
    work, merge = in_arrow(("a.b", "*"))
    plain = rows.groupBy("k").applyInArrow(work, schema(("a.b", "*")))
    grouped = unskew.groupBy(rows.toDF("a.b", "*"), "a.b", workers=3, scheme="planned-split")
    ours = grouped.applyInArrow(work, schema(("a.b", "*")), merge=merge)
    assert ours.columns == plain.columns
    assert counted(ours) == counted(plain)


def test_columns_that_no_name_tells_apart(rows):
    columns = rows.select("k", "id", *(F.col("id") * times for times in (2, 3, 4)))
    like, twins = columns.toDF("k", "id", "u", "v", "w"), columns.toDF("k", "id", "v", "v", "V")
    check_groups(twins, "k", ("t", "n"), like=like)
    types = "l bigint, r bigint"
    plain = rows.groupBy("k").cogroup(like.groupBy("k")).applyInArrow(together, types)
    left = unskew.groupBy(rows, "k", workers=3, scheme="kg")
    ours = left.cogroup(unskew.groupBy(twins, "k")).applyInArrow(together, types)
    assert counted(ours) == counted(plain)


def test_without_group_columns(rows, setting):
    setting("spark.sql.retainGroupColumns", "false")
    check_groups(rows, "k", ("t", "n"))
    types = "l bigint, r bigint"
    plain = rows.groupBy("k").cogroup(rows.groupBy("k")).applyInArrow(together, types)
    wanted = counted(plain)
    for scheme in ("auto", "kg"):
        left = unskew.groupBy(rows, "k", workers=3, scheme=scheme)
        ours = left.cogroup(unskew.groupBy(rows, "k"))
        assert counted(ours.applyInArrow(together, types)) == wanted


def test_a_key_in_another_case(rows, setting):
    check_groups(rows, "K", ("t", "n"))
    setting("spark.sql.caseSensitive", "true")
    both = rows.select("k", (F.col("k") % 2).alias("K"), "id")
    check_groups(both, "K", ("t", "n"))
