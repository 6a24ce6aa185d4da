"""The key of a stream: columns by name, and expressions such as windows of an event time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame

from unskew._spark.frames.keys import KeyColumns, check_rows, column
from unskew.errors import ParameterError, ParameterTypeError

SESSION = "spark.sessionWindow"
"""Spark marks session windows so."""

Key = str | Column | Sequence[str | Column]


def keyed(stream: DataFrame, keys: Sequence[Key]) -> tuple[DataFrame, tuple[str, ...]]:
    """The stream with all of the key as columns, and their names."""
    check_rows("stream", stream)
    if not stream.isStreaming:
        raise ParameterError(
            "the rows are no stream (readStream); unskew.groupBy takes those of a batch"
        )
    names: list[str] = []
    for each in _flat(keys):
        if isinstance(each, str):
            names.append(each)
            continue
        if not isinstance(each, Column):
            raise ParameterTypeError("key", each, "the name of a column or an expression")
        name = stream.select(each).columns[0]
        if name in stream.columns:
            raise ParameterError(
                f"the key's expression is called {name!r}, as a column of the stream is; "
                "give it another name with alias"
            )
        # Not withColumn: on Spark Connect it loses what marks a window of an event time.
        stream = stream.select("*", each)
        names.append(name)
    found = KeyColumns.of(stream, names).names
    _check_windows(stream, found)
    if len(set(found)) < len(found):
        raise ParameterError(f"the key names a column twice: {', '.join(found)}")
    return stream, found


def _check_windows(stream: DataFrame, names: Sequence[str]) -> None:
    """Refuse session windows: those of two rows may become one, which no partial result can."""
    for name in names:
        if SESSION in stream.select(column(name)).schema[0].metadata:
            raise ParameterError(
                f"{name!r} is a session window, whose rows cannot be cut into parts; "
                "plain stream.groupBy(F.session_window(...)) has them"
            )


def _flat(keys: Sequence[Key]) -> list[str | Column]:
    flat: list[Any] = []
    for key in keys:
        flat.extend(key if isinstance(key, list | tuple) else [key])
    return flat
