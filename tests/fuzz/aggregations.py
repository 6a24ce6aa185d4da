"""Aggregates with their twins in Spark, as text.

Aggregates that Spark has under the same name are compared with Spark's. The others are compared
with the aggregate itself, given all rows of a key at once.
"""

from __future__ import annotations

import random
from dataclasses import MISSING, fields

from pyspark.sql import functions as F
from tests.fuzz.tables import Table

from unskew import aggregates

REFERENCE = """
def reference(each, rows):
    source = each.columns[0]
    kind = to_arrow_type(rows.select(col(source)).schema[0].dataType, timezone="UTC")
    kind = each.result_type([kind])

    def whole(lists: pa.Array) -> pa.Array:
        found = []
        for values in lists:
            rows = pa.record_batch([values.values], names=["x"])
            found.append(each.result(each.add(each.zero(), rows)))
        return pa.array(found, kind)

    return arrow_udf(whole, from_arrow_type(kind))(F.collect_list(col(source)))
"""
_SPARKS_OWN = ("max", "min", "count_distinct", "sum")


_OF_NUMBERS = ("sum", "mean", "quantiles")
_NUMBERS = ("int", "double", "float", "decimal")


def draw_aggregate(draw: random.Random, table: Table, values: list[int]) -> tuple[str, str]:
    """An aggregate of one of the columns `values`: ours and Spark's, as text."""
    place = draw.choice(values)
    names = list(aggregates.ALL)
    sql = table.fields[place].sql
    if draw.random() < 0.85 and not sql.split("(")[0].endswith(_NUMBERS):
        # One that is refused hides what becomes of the others.
        names = [name for name in names if name not in _OF_NUMBERS]
    name = draw.choice(names)
    kind = aggregates.ALL[name]
    source = f"left.columns[{place}]"
    first = next(field for field in fields(kind) if field.init)  # type: ignore[arg-type]
    if first.default is not MISSING and draw.random() < 0.5:
        source = ""
    ours = f"unskew.{name}({source})"
    if hasattr(F, name):
        column = f"col({source})" if source else "F.lit(1)"
        return ours, f"F.{name}({column})"
    return ours, f"reference({ours}, left)"


def draw_column(draw: random.Random, values: list[int]) -> str:
    """One of Spark's own aggregates."""
    return f"F.{draw.choice(_SPARKS_OWN)}(col(left.columns[{draw.choice(values)}]))"
