"""Aggregates with their twins in Spark, as text.

Aggregates that Spark has under the same name are compared with Spark's. The others are compared
with the aggregate itself, given all rows of a key at once, and instants in UTC: no hour of it is
there twice.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator
from dataclasses import MISSING, fields

from pyspark.sql import functions as F
from tests.fuzz.tables import Table

from unskew import aggregates

REFERENCE = """
def in_utc(values):
    instants = pa.types.is_timestamp(values.type) and values.type.tz
    return values.cast(pa.timestamp("us", "UTC")) if instants else values


def reference(each, rows):
    source = each.columns[0]
    kind = to_arrow_type(rows.select(col(source)).schema[0].dataType, timezone="UTC")
    kind = each.result_type([kind])

    def whole(lists: pa.Array) -> pa.Array:
        found = []
        for values in lists:
            rows = pa.record_batch([in_utc(values.values)], names=["x"])
            found.append(each.result(each.add(each.zero(), rows)))
        return pa.array(found, kind)

    return arrow_udf(whole, from_arrow_type(kind))(F.collect_list(col(source)))
"""
_SPARKS_OWN = ("max", "min", "count_distinct", "sum")
_OF_NUMBERS = ("sum", "mean", "quantiles")
_NUMBERS = ("int", "double", "float", "decimal")


def draw_aggregates(
    draw: random.Random, table: Table, values: list[int], columns: bool
) -> Iterator[tuple[str, str]]:
    """Aggregates of the columns `values`: ours and Spark's, as text.

    `columns`: most are Spark's own. One that is refused hides what becomes of the others: most
    cases have none such.
    """
    drawn = list(_drawn_aggregates(draw, table, values, columns))
    if any(twin.startswith("reference(") for _, twin in drawn):
        # Where the sum behind a mean overflows, Spark's answer depends on how it aggregates (null
        # or a number): beside a function of Python, otherwise than alone.
        for place in filter(functools.partial(_is_wide, table), values):
            mean = f"unskew.mean(left.columns[{place}])"
            total = _drawn(draw, "sum", f"left.columns[{place}]")
            drawn = [total if ours == mean else (ours, twin) for ours, twin in drawn]
    yield from drawn


def _is_wide(table: Table, place: int) -> bool:
    return table.fields[place].sql.startswith("decimal(38")


def _drawn_aggregates(
    draw: random.Random, table: Table, values: list[int], columns: bool
) -> Iterator[tuple[str, str]]:
    wild = draw.random() < 0.1
    # Spark adds up what it knows by itself, and one aggregate in Python takes all others along.
    known = columns or draw.random() < 0.4
    for _ in range(draw.choice([1, 2, 4, 6, 8])):
        place = draw.choice(values)
        if columns and draw.random() < 0.7:
            column = draw_column(draw, values)
            yield column, column
            continue
        names = list(aggregates.ALL)
        if not wild and not table.fields[place].sql.split("(")[0].endswith(_NUMBERS):
            names = [name for name in names if name not in _OF_NUMBERS]
        if not wild and known:
            names = [name for name in names if hasattr(F, name)]
        if _is_wide(table, place):
            names += ["sum", "mean"] * 3  # Nothing else of theirs overflows.
        yield _drawn(draw, draw.choice(names), f"left.columns[{place}]")


def draw_column(draw: random.Random, values: list[int]) -> str:
    """One of Spark's own aggregates."""
    return f"F.{draw.choice(_SPARKS_OWN)}(col(left.columns[{draw.choice(values)}]))"


def _drawn(draw: random.Random, name: str, source: str) -> tuple[str, str]:
    first = next(field for field in fields(aggregates.ALL[name]) if field.init)  # type: ignore[arg-type]
    if first.default is not MISSING and draw.random() < 0.5:
        source = ""
    ours = f"unskew.{name}({source})"
    if hasattr(F, name):
        column = f"col({source})" if source else "F.lit(1)"
        return ours, f"F.{name}({column})"
    return ours, f"reference({ours}, left)"
