"""The values of keys that a plan knows by their hashes, for those who read it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from unskew._spark.frames.grouping import aggregate_by
from unskew._spark.frames.keys import KeyColumns
from unskew._spark.frames.physical_plan import is_read_only
from unskew._spark.planning.side_jobs import beside
from unskew.display import printable

_SECONDS = 10.0
"""How long one may wait for the values of a few keys."""


@dataclass(frozen=True, slots=True, eq=False)
class KeyNames:
    """Rows that have the keys."""

    rows: DataFrame
    key: KeyColumns

    def of(self, hashes: Sequence[int]) -> dict[int, str]:
        """The keys in words, as far as they are found in time; costly rows are not read again."""
        if not hashes or self.rows.isStreaming or not is_read_only(self.rows):
            return {}
        found = beside(
            self.rows.sparkSession,
            "values of hot keys",
            _SECONDS,
            lambda: values_of(self.rows, self.key, hashes),
        )
        return {hash_: printable(in_words(value)) for hash_, value in (found or {}).items()}


def values_of(rows: DataFrame, key: KeyColumns, hashes: Sequence[int]) -> dict[int, Any]:
    """A key's values by its hash, as a signed number, for those that the rows have; one job."""
    hashed = rows.select(key.hash.alias("hash"), F.struct(*key.columns).alias("value"))
    named = hashed.where(F.col("hash").isin(list(hashes)))
    found = aggregate_by(named, [F.col("hash")], F.first("value").alias("value"))
    return {row["hash"]: row["value"] for row in found.collect()}


def in_words(value: Any) -> str:
    """A key as text: its values, separated by commas."""
    if value is None:
        return "?"
    return ", ".join("NULL" if part is None else str(part) for part in value)
