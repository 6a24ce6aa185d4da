"""The check of a merge function before any job."""

from __future__ import annotations

import logging
from typing import Any

import pandas as pd
import pyarrow as pa

from unskew._spark.engine.calls import UserCall
from unskew._spark.frames.schemas import arrow_schema, check_names
from unskew.errors import SchemaError

_log = logging.getLogger("unskew")


def check_merge(merge: UserCall) -> None:
    """Raise if the merge function changes the schema: it is called once without rows."""
    if merge.form.with_key:
        raise SchemaError("merge takes partial results only; add the key to the schema to see it")
    if merge.form.iterator:
        return
    empty = arrow_schema(merge.schema).empty_table()
    wanted = pa.Table if merge.kind == "arrow" else pd.DataFrame
    try:
        result = merge.function(empty if merge.kind == "arrow" else empty.to_pandas())
    except Exception as problem:  # It may well rely on rows being there; the job will tell.
        _log.debug("merge could not be called without rows: %r", problem)
        return
    if not isinstance(result, wanted):
        kind = f"{wanted.__module__.split('.')[0]} {wanted.__name__}"
        raise SchemaError(f"merge returned {type(result).__name__}; return a {kind}")
    _check_result(result, empty.schema)


def _check_result(result: Any, wanted: pa.Schema) -> None:
    if not isinstance(result, pa.Table):
        if result.shape != (0, 0):
            check_names(list(map(str, result.columns)), wanted.names, "the result of merge")
        return
    found = {field.name: field.type for field in result.schema}
    if found and found != {field.name: field.type for field in wanted}:
        raise SchemaError(
            f"merge returned {_in_words(result.schema)}; the schema is {_in_words(wanted)}"
        )


def _in_words(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)
