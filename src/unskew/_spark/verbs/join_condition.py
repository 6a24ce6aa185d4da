"""Conditions of joins: equalities between the sides, taken apart into a key for each side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame
from pyspark.sql.types import StructField

from unskew._spark.frames.helper_columns import helper_name
from unskew._spark.frames.keys import KeyColumns, resolve_key


class KeyedSide(NamedTuple):
    """The rows of one side, behind whose columns stand those of the key."""

    rows: DataFrame
    key: KeyColumns


def keyed_sides(
    left: DataFrame, right: DataFrame, conditions: Sequence[Column]
) -> tuple[KeyedSide, KeyedSide] | None:
    """Both sides, with columns of one name that are equal just where all the conditions hold.

    None unless every condition is an equality of a value of the left and one of the right.
    """
    pairs = []
    for condition in conditions:
        found = _equalities(left, condition)
        if found is None:
            return None
        pairs.extend(found)
    sided = [_by_side(left, right, pair) for pair in pairs]
    here = [pair[0] for pair in sided if pair is not None]
    there = [pair[1] for pair in sided if pair is not None]
    if len(here) < len(sided):
        return None
    names = [helper_name(f"key{place}", left, right) for place in range(len(here))]
    mine, theirs = _keyed(left, here, names), _keyed(right, there, names)
    # One key has one name: the left's.
    return mine, KeyedSide(theirs.rows, KeyColumns(theirs.key.fields, mine.key.shown))


def _keyed(rows: DataFrame, values: list[Column], names: list[str]) -> KeyedSide:
    keyed, key = resolve_key(rows, values)
    renamed = keyed.withColumnsRenamed(dict(zip(key.column_names, names, strict=True)))
    fields = [
        StructField(name, field.dataType) for name, field in zip(names, key.fields, strict=True)
    ]
    return KeyedSide(renamed, KeyColumns(tuple(fields), key.shown))


def _by_side(
    left: DataFrame, right: DataFrame, pair: tuple[Column, Column]
) -> tuple[Column, Column] | None:
    """The left's value, then the right's; None where a value may be of both sides, or of none."""
    for here, there in (pair, pair[::-1]):
        only_left = _has(left, here) and not _has(right, here)
        if only_left and _has(right, there) and not _has(left, there):
            return here, there
    return None


def _has(rows: DataFrame, value: Column) -> bool:
    try:
        return bool(rows.select(value).schema)
    except AnalysisException:
        return False


def _equalities(rows: DataFrame, condition: Column) -> list[tuple[Column, Column]] | None:
    """The operands of equalities joined by AND; None if there is anything else."""
    found = _call(rows, condition)
    if found is None:
        return None
    name, operands = found
    if name in ("=", "=="):
        return [(operands[0], operands[1])]
    if name != "and":
        return None
    parts = [_equalities(rows, operand) for operand in operands]
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return [pair for part in known for pair in part]


def _call(rows: DataFrame, condition: Column) -> tuple[str, list[Column]] | None:
    """The function that a column calls, and its operands; None if it calls none.

    No public name tells this, in neither mode of Spark.
    """
    session: Any = rows.sparkSession
    given: Any = condition
    if not hasattr(given, "_jc"):
        called = getattr(given, "_expr", None)
        operands = getattr(called, "_args", None)
        if operands is None:
            return None
        return str(getattr(called, "_name", "")), [type(given)(each) for each in operands]
    node = given._jc.node()
    if node.getClass().getSimpleName() != "UnresolvedFunction":
        return None
    arguments = node.arguments()
    make = session._jvm.org.apache.spark.sql.Column
    operands = [type(given)(make(arguments.apply(place))) for place in range(arguments.size())]
    return str(node.functionName()), operands
