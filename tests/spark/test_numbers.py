"""Aggregates of every type are Spark's, or refused before the job, in every form and setting."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, TimestampType
from tests.effort import THOROUGH

import unskew
from unskew._spark.engine.aggregation_plan import AggregationPlan
from unskew._spark.streaming.aggregate import algebraic_partials
from unskew._spark.streaming.state_store_merge import state_partials
from unskew.aggregates import Aggregate
from unskew.errors import UnskewError

pytestmark = pytest.mark.spark

# The hour from 05:00 UTC on this day is shown twice in New York.
AUTUMN = 1762059600
COLUMNS = {
    "tiny": "cast(n as tinyint)",
    "small": "cast(n as smallint)",
    "whole": "cast(n as int)",
    "long": "n * 1000000007L",
    "float": "cast(n + 0.5 as float)",
    "double": "if(n = 3, double('NaN'), n + 0.25D)",
    "money": "cast(n + 0.07 as decimal(10, 2))",
    "digits": "cast(concat('55555555055555555505', n, '.1234567891') as decimal(38, 10))",
    "text": "cast(n as string)",
    "lower": "collate(concat(n, if(n = 1, 'E0', 'e0')), 'UTF8_LCASE')",
    "blob": "cast(concat('b', n) as binary)",
    "flag": "n > 1",
    "day": "date_add(date'9999-12-30', n)",
    "time": f"timestamp_seconds({AUTUMN} + n * 1800)",
    "far": "timestamp_seconds(n * 100000000000L)",
    "naive": f"cast('1970-01-01' as timestamp_ntz) + n * interval '30' minute + {AUTUMN} * "
    "interval '1' second",
    "span": "make_dt_interval(n, 1, 1, 0.3)",
    "months": "make_ym_interval(n, 1)",
    "calendar": "make_interval(n)",
    "list": "array(n, 2)",
    "pair": "named_struct('a', n, 'b', 'x')",
    # In another order without the collation.
    "lowers": "array(collate(concat(if(n = 1, 'B', 'a'), n), 'UTF8_LCASE'))",
    "lower_pair": "named_struct('a', collate(concat(if(n = 1, 'B', 'a'), n), 'UTF8_LCASE'))",
    "map": "map('a', n)",
    "variant": "parse_json(cast(n as string))",
}

AGGREGATES: dict[str, tuple[Callable[[str], Aggregate], Callable[[str], object]]] = {
    "sum": (unskew.sum, F.sum),
    "mean": (unskew.mean, F.avg),
    "min": (unskew.min, F.min),
    "max": (unskew.max, F.max),
    "count": (unskew.count, F.count),
    "distinct": (unskew.distinct, F.count_distinct),
    # Of values of equal counts, both take the lowest.
    "top": (lambda name: unskew.top_k(name, 1), lambda name: F.mode(name, True)),
}


def whole(rows: DataFrame, **wanted: Aggregate) -> DataFrame:
    return unskew.groupBy(rows, "key").agg(**wanted)


def two_steps(rows: DataFrame, **wanted: Aggregate) -> DataFrame:
    return unskew.groupBy(rows, "key", workers=3, scheme="pkg").agg(**wanted)


def in_python(rows: DataFrame, **wanted: Aggregate) -> DataFrame:
    return two_steps(rows, **wanted, other=unskew.top_k("id")).drop("other")


def streaming_in_spark(rows: DataFrame, **wanted: Aggregate) -> DataFrame:
    plan = AggregationPlan.of(rows, ["key"], (), wanted)
    parts = algebraic_partials(plan).of(rows, plan.key, 3)
    return parts.groupBy(*plan.keys).agg(*plan.merged())


def streaming_in_python(rows: DataFrame, **wanted: Aggregate) -> DataFrame:
    plan = AggregationPlan.of(rows, ["key"], (), wanted)
    parts = state_partials(plan.states(), plan.state, spare="key").of(rows, plan.key, 3)
    merged = parts.groupBy(*plan.keys).agg(
        plan.functions().merge(F.col(plan.state)).alias(plan.state)
    )
    return merged.select(*plan.keys, *plan.results())


NATIVE = [whole, two_steps, streaming_in_spark]
# Each takes a quarter of a minute: by default those that differ most from Spark's own.
FORMS = [two_steps, in_python]
if THOROUGH:
    FORMS += [whole, streaming_in_spark, streaming_in_python]


@pytest.fixture
def setting(spark):
    """Change settings of the session until the test ends."""
    before = {}

    def change(name: str, value: str) -> None:
        before.setdefault(name, spark.conf.get(name))
        spark.conf.set(name, value)

    yield change
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.fixture(scope="module")
def table(spark):
    rows = spark.range(24).selectExpr(
        "id", "if(id < 16, 'hot', concat('k', id % 3)) key", "id % 4 m"
    )
    numbers = rows.selectExpr("id", "key", "cast(if(m = 3, null, if(id % 8 = 4, 3, m)) as int) n")
    values = [f"if(n is null, null, {each}) as {name}" for name, each in COLUMNS.items()]
    return numbers.selectExpr("id", "key", *values).repartition(2).localCheckpoint()


def shown(result: DataFrame) -> DataFrame:
    """All results as text that tells equal values, instants included."""
    columns = []
    for field in result.schema:
        name, value = field.name, F.col(f"`{field.name}`")
        if field.dataType.simpleString().startswith("array<struct<item:"):
            value, field = value[0]["item"], field.dataType.elementType["item"]
        if isinstance(field.dataType, TimestampType):
            value = F.unix_micros(value)
        elif isinstance(field.dataType, BinaryType):
            value = F.hex(value)
        elif field.dataType.simpleString() == "double":
            value = F.format_number(value, 6)
        columns.append(value.cast("string").alias(name))
    return result.select(*columns)


def kinds(result: DataFrame) -> dict[str, str]:
    """The types, of lists of top values those of the values."""
    return {
        name: kind.removeprefix("array<struct<item:").removesuffix(",count:bigint>>")
        for name, kind in result.dtypes
    }


TURNS = [
    pytest.param(form, ansi, id=f"{form.__name__}-{ansi}")
    for place, form in enumerate(FORMS)
    for turn, ansi in enumerate(("true", "false"))
    if THOROUGH or (place + turn) % 2 == 0
]
"""Every form; with both settings of ANSI where there is time, else they take turns."""


@pytest.mark.parametrize(("form", "ansi"), TURNS)
def test_aggregates_of_every_type_are_sparks_or_refused(table, setting, form, ansi):
    setting("spark.sql.ansi.enabled", ansi)
    setting("spark.sql.session.timeZone", "America/New_York")
    ours, theirs, refused = {}, [], []
    for name in COLUMNS:
        for title, (make, plain) in AGGREGATES.items():
            if form in NATIVE and title in ("distinct", "top"):
                continue
            try:
                # Which ones are taken: this is much cheaper than a form's whole result.
                plan = AggregationPlan.of(table, ["key"], (), {"result": make(name)})
                if form not in NATIVE:
                    plan.states()
            except UnskewError:
                refused.append((name, title))
                continue
            ours[f"{title} {name}"] = make(name)
            theirs.append(plain(name).alias(f"{title} {name}"))
    assert len(ours) > 60
    for name, title in refused:
        with pytest.raises(UnskewError):
            form(table, result=AGGREGATES[title][0](name))
        if form in (whole, two_steps):
            with pytest.raises(PySparkException):
                table.groupBy("key").agg(AGGREGATES[title][1](name)).schema  # noqa: B018
    result, expected = form(table, **ours), table.groupBy("key").agg(*theirs)
    assert kinds(result) == kinds(expected)
    wanted = {row["key"]: row.asDict() for row in shown(expected).collect()}
    assert {row["key"]: row.asDict() for row in shown(result).collect()} == wanted


OVERFLOWS = [
    *(("sum", "wide"), ("mean", "wide"), ("mean", "narrow"), ("sum", "long")),
    *(("sum", "twice"), ("mean", "twice")),
]


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_what_overflows_in_spark_overflows(spark, setting, form):
    rows = spark.range(0, 240, 1, 2).selectExpr(
        "id",
        "id % 20 key",
        "cast(if(id % 2 = 0, '1', '9e37') as decimal(38, 0)) wide",
        "cast(if(id % 2 = 0, '1', '3e36') as decimal(38, 0)) narrow",
        "if(id % 2 = 0, 1, 9223372036854775807) long",
        # Two values of a key overflow: in the same part for some keys, while others do not.
        "cast(if(id % 2 = 1 and id div 20 in (1, 9), '0.9', '0') as decimal(38, 38)) twice",
    )
    setting("spark.sql.ansi.enabled", "false")
    ours = {f"{title} {name}": AGGREGATES[title][0](name) for title, name in OVERFLOWS}
    theirs = [AGGREGATES[title][1](name).alias(f"{title} {name}") for title, name in OVERFLOWS]
    found = {row["key"]: row for row in form(rows, **ours).collect()}
    assert found == {row["key"]: row for row in rows.groupBy("key").agg(*theirs).collect()}
    assert found[1]["sum wide"] is None
    assert found[1]["sum long"] == -12
    assert found[1]["sum twice"] is None
    assert found[1]["mean twice"] is None
    setting("spark.sql.ansi.enabled", "true")
    for aggregate in ours.values():
        with pytest.raises(PySparkException, match="SQLSTATE: 22003"):
            form(rows, result=aggregate).collect()
