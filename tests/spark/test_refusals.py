"""Every public function refuses bad input by a typed error, before any job runs."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.utils import is_remote

import unskew
from unskew.errors import ParameterError, ParameterTypeError, UnskewError
from unskew.testing import one_hot_key, skewed

pytestmark = pytest.mark.spark

SCHEMA = "key string, n bigint"


def same(rows):
    return rows


def batches(rows):
    yield from rows


NO_WORKERS = [0, -1, 1.5, "4", True, 2**24 + 1, 10**80]
NO_KEY = [
    None,
    3,
    "",
    "kye",
    [],
    ["key", 3],
    [None],
    {"key": 1},
    "k\x1b[31m",
    "x" * 10**6,
]
NO_SCHEME = ["", "pgk", 3, None, "posg", "x" * 10**6]
NO_SCHEMA = ["", "no such type", 3, None, "key strin", "bigint"]

CALLS = {
    "diagnose": lambda rows, **wrong: unskew.diagnose(**{"rows": rows, "key": "key", **wrong}),
    "plan": lambda rows, **wrong: unskew.plan(**{"rows": rows, "key": "key", **wrong}),
    "repartition": lambda rows, **wrong: unskew.repartition(
        **{"rows": rows, "key": "key", **wrong}
    ),
    "join": lambda rows, **wrong: unskew.join(
        **{"left": rows, "right": rows.select("key"), "on": "key", **wrong}
    ),
    "groupBy": lambda rows, key="key", **wrong: unskew.groupBy(rows, key, **wrong).agg(
        n=unskew.top_k("value")
    ),
    "applyInArrow": lambda rows, key="key", scheme="auto", func=same, schema=SCHEMA, merge=None: (
        unskew.groupBy(rows, key, scheme=scheme).applyInArrow(func, schema, merge)
    ),
    "mapInArrow": lambda rows, **wrong: unskew.mapInArrow(
        **{"df": rows, "func": batches, "schema": SCHEMA, "cost_key": "key", **wrong}
    ),
    "streaming": lambda rows, **wrong: unskew.streaming.groupBy(rows, "key", **wrong),
    "stateful": lambda rows, **wrong: unskew.streaming.stateful(
        rows, "key", same, schema=SCHEMA, state_schema="n bigint", checkpoint="nowhere", **wrong
    ),
    "skewed": lambda rows=9, **wrong: skewed(
        **{"spark": SparkSession.active(), "rows": rows, "keys": 3, **wrong}
    ),
    "one_hot_key": lambda rows=9, **wrong: one_hot_key(
        **{"spark": SparkSession.active(), "rows": rows, "keys": 3, **wrong}
    ),
}
TABLE = [
    *((verb, "workers", NO_WORKERS) for verb in ("diagnose", "plan", "repartition", "join")),
    *((verb, "workers", NO_WORKERS) for verb in ("groupBy", "mapInArrow")),
    *((verb, "rows", [None, 3, "key", [("a", 1)]]) for verb in ("diagnose", "plan", "repartition")),
    *((verb, "key", NO_KEY) for verb in ("diagnose", "plan", "repartition")),
    ("groupBy", "key", [key for key in NO_KEY if key not in (3, [], ["key", 3])]),
    ("groupBy", "key", [0, -1, 99, 1.5, ["key", 99], "key.x"]),
    ("join", "on", NO_KEY),
    ("mapInArrow", "cost_key", ["", "kye", [], None, 3]),
    *((verb, "sample", [0, -1, 2, "x", float("nan")]) for verb in ("diagnose", "plan", "groupBy")),
    ("diagnose", "top", [-1, 1.5, "x", None, 10**9]),
    *((verb, "epsilon", [0, -1, "x", float("nan"), None]) for verb in ("plan", "groupBy", "join")),
    *((verb, "table", [-1, 1.5, "x", 10**9]) for verb in ("plan", "groupBy", "join")),
    ("plan", "capacities", [[], "x", [1, "x"], [0, 1, 1, 1], [float("nan")] * 4, 3]),
    ("plan", "need", ["", "whole", 3, None]),
    *((verb, "scheme", NO_SCHEME) for verb in ("repartition", "applyInArrow", "groupBy")),
    ("groupBy", "settng", [1]),
    ("join", "how", ["", "innr", "cross", 3, None]),
    *((verb, "schema", NO_SCHEMA) for verb in ("applyInArrow", "mapInArrow")),
    *((verb, "func", [None, 3, "f"]) for verb in ("applyInArrow", "mapInArrow")),
    ("applyInArrow", "func", [lambda: None, lambda a, b, c: None]),
    ("applyInArrow", "merge", [3, lambda: None]),
    ("mapInArrow", "learn", [0, 1, -1, "x", None, float("nan")]),
    ("mapInArrow", "learned", ["file.json"]),
    ("streaming", "workers", [4]),  # a batch is no stream
    ("stateful", "workers", [4]),
    ("skewed", "rows", [-1, 1.5, "x", None]),
    ("skewed", "keys", [0, -1, 1.5, "x"]),
    ("skewed", "nulls", [-1, 2, "x", float("nan")]),
    ("one_hot_key", "share", [-1, 2, "x"]),
    ("one_hot_key", "rows", [-1, 1.5]),
    ("one_hot_key", "keys", [0, -1]),
]


MADE = ("skewed", "one_hot_key")
"""These take no rows: they make them."""


@pytest.fixture(scope="module")
def rows(spark):
    return skewed(spark, rows=100, keys=5).persist()


@pytest.mark.parametrize(("verb", "name", "values"), TABLE)
def test_bad_input_is_refused_before_any_job(spark, rows, verb, name, values):
    if not is_remote():
        spark.sparkContext.setJobGroup("refusals", "none should run")
    for value in values:
        frame = {} if name == "rows" or verb in MADE else {"rows": rows}
        with pytest.raises(UnskewError) as refusal:
            CALLS[verb](**frame, **{name: value})
        assert 0 < len(str(refusal.value)) < 1500
    if not is_remote():
        assert spark.sparkContext.statusTracker().getJobIdsForGroup("refusals") == []
        spark.sparkContext._jsc.clearJobGroup()


def test_capacities_are_one_for_each_worker(rows):
    for capacities in ([1], [1, 1, 1]):
        with pytest.raises(ParameterError, match="must be 2 numbers above 0, one for each worker"):
            unskew.plan(rows, "key", workers=2, capacities=capacities)


def test_an_expression_is_no_key(rows):
    for call in (unskew.diagnose, unskew.plan, unskew.repartition):
        with pytest.raises(ParameterTypeError, match="the name of a column"):
            call(rows, F.col("key"))


def test_columns_of_one_name_are_refused(rows):
    with pytest.raises(UnskewError, match="2 columns named 'key'"):
        unskew.diagnose(rows.select("key", rows.key), "key")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", "null", None, '{"key": "k"}'])
def test_plans_that_cannot_be_read(text):
    with pytest.raises(UnskewError, match="not a valid plan"):
        unskew.Plan.from_json(text)


def test_rows_of_pandas_are_told_from_rows_of_spark(rows):
    with pytest.raises(ParameterTypeError, match="not a Spark DataFrame"):
        unskew.diagnose(rows.toPandas(), "key")


def test_a_checkpoint_that_is_none(spark, tmp_path):
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(UnskewError):
            unskew.diagnose_state(str(path), spark=spark)
        with pytest.raises(UnskewError):
            unskew.streaming.read_state(spark, str(path))
