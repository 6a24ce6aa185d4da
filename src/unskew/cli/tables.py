"""Input files as DataFrames of an embedded Spark."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from unskew.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CSV, JSON, LINES = (
    (".csv", ".tsv", ".txt"),
    (".json", ".jsonl", ".ndjson"),
    (".txt", ".text", ".md", ".log"),
)


def check_file(path: Path, lines: bool = False) -> None:
    """Raise if Spark cannot read the file, before Spark takes ten seconds to start."""
    known = {*CSV, *JSON, *(LINES if lines else ())}
    if not os.path.exists(path):  # noqa: PTH110 - Path raises where a name is too long
        raise InputError(f"file not found: {path}")
    if path.is_file() and path.suffix.lower() not in known:
        with path.open("rb") as file:
            if file.read(4) != b"PAR1":
                raise InputError(
                    f"{path.name} is not Parquet; text files end in {', '.join(sorted(known))}"
                )


def read_table(spark: SparkSession, path: Path, lines: bool = False) -> DataFrame:
    """Read a file or folder by its suffix; with `lines`, plain text is one column `text`."""
    from pyspark.errors import PySparkException

    # A session that runs already may have been started in another folder.
    ending, reader, place = path.suffix.lower(), spark.read, str(path.resolve())
    try:
        if lines and ending in LINES:
            return reader.text(place).withColumnRenamed("value", "text")
        if ending in CSV:
            separator = "\t" if ending == ".tsv" else ","
            return reader.csv(place, header=True, inferSchema=True, sep=separator)
        if ending in JSON:
            return reader.json(place)
        return reader.parquet(place)
    except PySparkException as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path.name} cannot be read as a table: {reason}") from error


def renamed(rows: DataFrame, names: Mapping[str, str]) -> DataFrame:
    """The rows with the columns `names` maps to, under the names that it maps from."""
    hidden = [wanted for wanted in names if wanted not in names.values()]
    return rows.drop(*hidden).withColumnsRenamed({found: wanted for wanted, found in names.items()})
