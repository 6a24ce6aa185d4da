"""The values of keys that a plan knows by their hashes, for those who read it."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DateType,
    DayTimeIntervalType,
    StructField,
    TimestampNTZType,
    TimestampType,
    YearMonthIntervalType,
)

from unskew._spark.frames.grouping import aggregate_by
from unskew._spark.frames.keys import KeyColumns, contains
from unskew._spark.frames.physical_plan import is_read_only
from unskew._spark.planning.side_jobs import beside
from unskew.display import printable

_log = logging.getLogger("unskew")

_SECONDS = 10.0
"""How long one may wait for the values of a few keys."""
_TIMES = (DateType, TimestampType, TimestampNTZType, DayTimeIntervalType, YearMonthIntervalType)
"""Types with values that Python has not: the year 14,000, an interval of months."""


@dataclass(frozen=True, slots=True, eq=False)
class KeyNames:
    """Rows that have the keys."""

    rows: DataFrame
    key: KeyColumns

    def of(self, hashes: Sequence[int]) -> dict[int, str]:
        """The keys in words, as far as they are found in time; costly rows are not read again."""
        if not hashes:
            return {}
        try:
            found = self._found(hashes)
        except Exception as problem:  # Of whatever kind: the session may have been stopped.
            _log.debug("the values of hot keys were not read: %r", problem)
            found = None
        return {hash_: printable(in_words(value)) for hash_, value in (found or {}).items()}

    def _found(self, hashes: Sequence[int]) -> dict[int, Any] | None:
        if self.rows.isStreaming or not is_read_only(self.rows):
            return None
        return beside(
            self.rows.sparkSession,
            "values of hot keys",
            _SECONDS,
            lambda: values_of(self.rows, self.key, hashes),
        )


def values_of(rows: DataFrame, key: KeyColumns, hashes: Sequence[int]) -> dict[int, Any]:
    """A key's values by its hash, as a signed number, for those that the rows have; one job."""
    columns = (_readable(*each) for each in zip(key.columns, key.fields, strict=True))
    hashed = rows.select(key.hash.alias("hash"), F.struct(*columns).alias("value"))
    named = hashed.where(F.col("hash").isin(list(hashes)))
    found = aggregate_by(named, [F.col("hash")], F.first("value").alias("value"))
    return {row["hash"]: row["value"] for row in found.collect()}


def _readable(value: Column, field: StructField) -> Column:
    """A key's column; as text where Python could not read it."""
    return value.cast("string") if contains(field.dataType, _TIMES) else value


def in_words(value: Any) -> str:
    """A key as text: its values, separated by commas."""
    if value is None:
        return "?"
    return ", ".join("NULL" if part is None else str(part) for part in value)
