"""Group functions in bulk see what Spark's own verbs show them, and return what Spark takes."""

from __future__ import annotations

import datetime as dt
import math
from collections import Counter
from decimal import Decimal
from functools import partial, wraps

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.errors import PythonException
from pyspark.sql import functions as F
from tests.effort import THOROUGH, few_jobs
from tests.spark import seen_groups
from tests.spark.cases import together

import unskew
from unskew.testing import assert_same_result

pytestmark = pytest.mark.spark

_MOMENTS = [dt.datetime(2026, 10, 25, hour, 30) for hour in (0, 1, 2)]
VALUES = {
    "int": [0, 1, -7],
    "bigint": [0, 2**62, 2**53 + 1],
    "boolean": [True, False],
    "double": [0.0, -0.0, math.nan, 1.5],
    "float": [0.0, 0.5],
    "string": ["", "a", "Ω"],
    "binary": [b"", b"\0x"],
    "decimal(20,3)": [Decimal("0.001"), Decimal("-12345678901234567.5")],
    "date": [dt.date(1, 1, 1), dt.date(2026, 2, 28)],
    "timestamp": _MOMENTS,
    "timestamp_ntz": _MOMENTS,
    "array<int>": [[], [1], [1, None]],
    "struct<a: int, b: string>": [(1, "x"), (None, None), (2, None)],
    "map<string, int>": [{}, {"x": 1}],
}
KEYS = [kind for kind in VALUES if not kind.startswith("map")]


@st.composite
def tables(draw):
    """A key of one or two columns and up to three others, with nulls."""
    kinds = draw(st.lists(st.sampled_from(KEYS), min_size=1, max_size=2))
    keys = len(kinds)
    kinds += draw(st.lists(st.sampled_from(list(VALUES)), max_size=3))
    columns = [st.none() | st.sampled_from(VALUES[kind]) for kind in kinds]
    rows = draw(st.lists(st.tuples(*columns), max_size=40))
    schema = ", ".join(f"c{place} {kind}" for place, kind in enumerate(kinds))
    return keys, schema, rows


@pytest.fixture
def settings(spark):
    """Settings of the session for one test."""
    before = {}

    def change(values):
        for name, value in values.items():
            before.setdefault(name, spark.conf.get(name))
            spark.conf.set(name, value)

    yield change
    for name, value in before.items():
        spark.conf.set(name, value)


def seen(frames):
    rows = together((str(place), frame) for place, frame in enumerate(frames)).collect()
    return Counter(
        (row["case"], row["form"], row["key"], row["types"], *row["rows"]) for row in rows
    )


def in_every_form(grouped, other):
    for function in seen_groups.IN_ARROW:
        yield grouped.applyInArrow(function, seen_groups.SCHEMA)
    for function in seen_groups.IN_PANDAS:
        yield grouped.applyInPandas(function, seen_groups.SCHEMA)
    both = grouped.cogroup(other)
    yield both.applyInArrow(seen_groups.both_in_arrow, seen_groups.SCHEMA)
    yield both.applyInPandas(seen_groups.both_in_pandas, seen_groups.SCHEMA)


@few_jobs
@given(
    table=tables(),
    few=st.integers(0, 5),
    scheme=st.sampled_from(["kg", "routing-table", "auto"]),
    batch=st.sampled_from(["1", "7", "10000"]),
    adaptive=st.sampled_from(["true", "false"]),
    workers=st.sampled_from([1, 2, 5]),
)
def test_a_function_sees_what_spark_shows_it(
    spark, settings, table, few, scheme, batch, adaptive, workers
):
    settings(
        {
            "spark.sql.execution.arrow.maxRecordsPerBatch": batch,
            "spark.sql.adaptive.enabled": adaptive,
            "spark.sql.session.timeZone": "Europe/Berlin",
            "spark.sql.codegen.wholeStage": "false",
        }
    )
    keys, schema, rows = table
    left = spark.createDataFrame(rows, schema).repartition(2)
    right = spark.createDataFrame(rows[:few], schema)
    names = left.columns[:keys]
    ours = in_every_form(
        unskew.groupBy(left, *names, scheme=scheme, workers=workers), unskew.groupBy(right, *names)
    )
    plain = in_every_form(left.groupBy(*names), right.groupBy(*names))
    assert seen(ours) == seen(plain)


def sizes(table: pa.Table) -> pa.Table:
    return pa.table({"k": table["k"][:1], "n": pa.array([table.num_rows], pa.int64())})


def sizes_in_pandas(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"k": frame["k"].iloc[:1], "n": [len(frame)]})


class Sizes:
    def __call__(self, frame):
        return sizes_in_pandas(frame)

    def method(self, frame):
        return sizes_in_pandas(frame)

    @staticmethod
    def static(frame):
        return sizes_in_pandas(frame)


@wraps(sizes_in_pandas)
def decorated(*args):
    return sizes_in_pandas(*args)


def with_hints(key: tuple[object, ...], frame: pd.DataFrame) -> pd.DataFrame:
    return sizes_in_pandas(frame)


def by_position(frame):
    return pd.DataFrame([[frame["k"].iloc[0], len(frame)]])


def other_order(frame):
    return sizes_in_pandas(frame)[["n", "k"]]


def by_dtype(frame):
    """Dtypes that differ from group to group, and groups without a result."""
    key = frame["k"].iloc[0]
    if key == 1:
        return pd.DataFrame()
    if key == 2:
        return pd.DataFrame({"k": [str(key)], "n": [len(frame)]}).astype({"k": "int32"})
    if key == 3:
        return pd.DataFrame({"k": [float(key)], "n": [None]})
    if key == 4:
        return pd.DataFrame({"k": pd.Categorical([key]), "n": [len(frame)]})
    return sizes_in_pandas(frame).iloc[: key % 2]


def many_rows(frame):
    return pd.DataFrame({"k": frame["k"].iloc[0], "n": range(3000)})


def stops(frame):
    raise StopIteration


_kept = []


def keeps_and_changes(frame):
    _kept.append(frame)
    frame["k"] += 0
    frame.loc[0, "v"] = None
    return sizes_in_pandas(frame)


WORKING = {
    "lambda": lambda frame: sizes_in_pandas(frame),
    "partial": partial(lambda add, frame: sizes_in_pandas(frame), 1),
    "static": Sizes.static,
    "hints": with_hints,
    "by position": by_position,
    "other order": other_order,
    "by dtype": by_dtype,
    "many rows": many_rows,
    "keeps": keeps_and_changes,
    "empty with columns": lambda frame: pd.DataFrame({"k": [], "n": []}),
    "rows without columns": lambda frame: pd.DataFrame(index=range(2)),
    "two arguments": lambda key, frame: sizes_in_pandas(frame),
}
# A function that fails ends its Python worker: the default is a few, the thorough profile has all.
FAILING = {
    "none": lambda frame: None,
    "wrong type": lambda frame: pd.DataFrame({"k": ["x"], "n": [1]}),
    "three arguments": lambda a, b, c: None,
    "callable": Sizes(),
    "method": Sizes().method,
    "decorated": decorated,
    "stop": stops,
    "series": lambda frame: frame["k"],
    "arrow": lambda frame: pa.table({"k": [1], "n": [1]}),
    "missing column": lambda frame: pd.DataFrame({"k": [1]}),
    "further column": lambda frame: pd.DataFrame({"k": [1], "n": [1], "x": [1]}),
    "raises": lambda frame: 1 / 0,
    "no argument": lambda: None,
}
WORKING_IN_ARROW = {
    "table": sizes,
    "other order": lambda table: sizes(table).select(["n", "k"]),
    "no columns": lambda table: pa.table({}),
    "many rows": lambda table: pa.table({"k": [1] * 3000, "n": range(3000)}),
}
FAILING_IN_ARROW = {
    "none": lambda table: None,
    "batch": lambda table: sizes(table).to_batches()[0],
    "pandas": lambda table: pd.DataFrame({"k": [1], "n": [1]}),
    "missing column": lambda table: sizes(table).select(["k"]),
    "wrong type": lambda table: pa.table({"k": [1.5], "n": [1]}),
    "raises": lambda table: 1 / 0,
}


@pytest.fixture(scope="module")
def numbers(spark):
    return spark.range(40).selectExpr("id % 8 k", "if(id % 3 = 0, null, id) v").localCheckpoint()


def outcome(job):
    """The rows of a job, or the last line of its error."""
    try:
        return Counter(map(str, job().collect()))
    except PythonException as error:
        lines = [line for line in str(error).splitlines() if line.strip()]
        return next(line for line in reversed(lines) if not line.startswith((" ", "\t")))
    except Exception as error:
        return type(error).__name__


SCHEMA = "k bigint, n bigint"


def in_forms(grouped):
    for form, function in WORKING.items():
        yield form, grouped.applyInPandas(function, SCHEMA)
    for form, function in WORKING_IN_ARROW.items():
        yield f"{form} in arrow", grouped.applyInArrow(function, SCHEMA)


def test_functions_of_any_form(numbers):
    ours = unskew.groupBy(numbers, "k", workers=2, scheme="kg")
    assert_same_result(together(in_forms(ours)), together(in_forms(numbers.groupBy("k"))))


@pytest.mark.parametrize("form", FAILING if THOROUGH else list(FAILING)[:3])
def test_pandas_functions_fail_as_in_spark(numbers, form):
    function = FAILING[form]
    plain = outcome(lambda: numbers.groupBy("k").applyInPandas(function, SCHEMA))
    ours = unskew.groupBy(numbers, "k", workers=2, scheme="kg")
    mine = outcome(lambda: ours.applyInPandas(function, SCHEMA))
    assert mine == ("ParameterError" if plain == "PySparkValueError" else plain)


@pytest.mark.parametrize("form", FAILING_IN_ARROW if THOROUGH else list(FAILING_IN_ARROW)[:1])
def test_arrow_functions_fail_as_in_spark_also_with_a_merge(numbers, form):
    function = FAILING_IN_ARROW[form]
    plain = outcome(lambda: numbers.groupBy("k").applyInArrow(function, SCHEMA))
    ours = unskew.groupBy(numbers, "k", workers=2, scheme="kg")
    assert outcome(lambda: ours.applyInArrow(function, SCHEMA)) == plain
    split = unskew.groupBy(numbers, "k", workers=2, scheme="planned-split")
    assert outcome(lambda: split.applyInArrow(function, SCHEMA, merge=sizes)) == plain


def days(frame):
    return pd.DataFrame({"k": [dt.date(2026, 2, 28)]})


def reads_too_far(frame):
    return next(iter(()))


@pytest.mark.parametrize(
    ("function", "told"), [(days, "got datetime.date"), (reads_too_far, "in reads_too_far")]
)
def test_errors_tell_what_they_came_from_as_in_spark(numbers, function, told):
    for grouped in numbers.groupBy("k"), unskew.groupBy(numbers, "k", workers=2, scheme="kg"):
        with pytest.raises(PythonException, match=told):
            grouped.applyInPandas(function, "k decimal(9)").collect()


BY_NAME = "spark.sql.legacy.execution.pandas.groupedMap.assignColumnsByName"


def too_large(frame):
    return pd.DataFrame({"k": [1], "n": [2.0**70]})


@pytest.mark.parametrize(
    ("name", "value", "function"),
    [
        (BY_NAME, "false", other_order),
        ("spark.sql.execution.pandas.convertToArrowArraySafely", "true", too_large),
        ("spark.sql.execution.pythonUDF.pandas.preferIntExtensionDtype", "true", sizes_in_pandas),
        ("spark.sql.execution.arrow.useLargeVarTypes", "true", sizes_in_pandas),
    ],
)
def test_settings_of_sparks_workers(numbers, settings, name, value, function):
    settings({name: value})
    plain = outcome(lambda: numbers.groupBy("k").applyInPandas(function, SCHEMA))
    ours = unskew.groupBy(numbers, "k", workers=2, scheme="kg")
    assert outcome(lambda: ours.applyInPandas(function, SCHEMA)) == plain


def test_keys_as_spark_takes_them(spark):
    rows = spark.range(60).selectExpr(
        "id",
        "id % 7 a",
        "named_struct('key', id % 3, 'a.b', 1) s",
        "timestamp_seconds(id * 9999) t",
    )

    def ids(key, table):
        return pa.table({"key": [str(key)], "ids": [sorted(table["id"].to_pylist())]})

    keys = {
        "expression": [F.col("a") % 4],
        "named": [(F.col("a") % 4).alias("b"), "a"],
        "function": [F.to_date("t")],
        "nested": ["s.key"],
        "backticks": ["`a`"],
        "position": [2],
        "list": [["a", F.col("id") % 2]],
        "another case": ["A", F.col("id") % 2],
        "own": [rows.a, rows["s"]["a.b"]],
        "none": [],
    }
    schema = "key string, ids array<bigint>"
    ours = {
        name: unskew.groupBy(rows, *key, workers=3, scheme="kg").applyInArrow(ids, schema)
        for name, key in keys.items()
    }
    plain = {name: rows.groupBy(*key).applyInArrow(ids, schema) for name, key in keys.items()}
    assert_same_result(together(ours.items()), together(plain.items()))
    for name, key in keys.items():
        counted = unskew.groupBy(rows, *key, workers=3).agg(unskew.count(), unskew.top_k("a", 2))
        assert counted.columns[:-2] == rows.groupBy(*key).count().columns[:-1], name


def test_columns_with_one_name(spark):
    rows = spark.range(12).selectExpr("id", "id % 3 k")
    twice = rows.alias("a").join(rows.alias("b"), F.col("a.id") == F.col("b.id"))

    def names(table):
        return pa.table({"names": [str(table.column_names)], "n": [table.num_rows]})

    # Plain Spark cannot name the columns of such rows.
    grouped = unskew.groupBy(twice, "a.k", workers=2, scheme="routing-table")
    found = grouped.applyInArrow(names, "names string, n bigint").collect()
    assert [tuple(row) for row in found] == [(str(["id", "k", "id", "k"]), 4)] * 3
