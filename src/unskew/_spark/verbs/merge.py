"""Group functions whose partial results merge: once per worker and key, then once per key.

The key travels beside the partial result in helper columns. Arrow carries any key as it is.
pandas does not (it has one NaN for null and NaN), so there the helpers are text.

Most keys of a planned split are whole. Theirs is merged where it was made: the second step gets
such results in bulk, a worker's at a time, and calls the merge for the keys that were cut alone.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from unskew._spark.engine.group_functions import (
    ArrowGroups,
    Function,
    Groups,
    PandasGroups,
    finishing,
    form_of,
    hiding,
    keeping,
    merging_the_rest,
)
from unskew._spark.frames.arrow_types import arrow_schema
from unskew._spark.frames.keys import KeyColumns, column
from unskew._spark.routing.route import Route
from unskew.errors import KeyTypeError, SchemaError
from unskew.partitioners.contract import KeyHashes

_log = logging.getLogger("unskew")

_KEY = "__unskew_key"
_WHOLE = "__unskew_whole"
"""The worker that has all rows of the key; null for a key that may be split."""


def apply_and_merge(
    rows: DataFrame,
    key: KeyColumns,
    route: Route,
    function: Function,
    schema: StructType,
    merge: Function,
    groups: Groups,
) -> DataFrame:
    """The partial results of every worker's share of a key, merged by key."""
    helpers = [f"{_KEY}{number}" for number in range(len(key.names))]
    keyed = rows.withColumns(_key_columns(key, helpers, groups))
    kept = [StructField(name, keyed.schema[name].dataType) for name in helpers]
    placed, worker = route.place(keyed, key)
    static = route.partitioner.static
    cut = None if static is None else static.cut
    if cut is not None and isinstance(groups, ArrowGroups) and not _takes_batches(function, merge):
        kept.append(StructField(_WHOLE, IntegerType()))
        placed = _marked(placed, key, worker, helpers, cut)
        partial = finishing(function, merge, [worker], helpers, _WHOLE, schema.names)
        last = merging_the_rest(merge, [*helpers, _WHOLE], schema.names)
    else:
        partial = keeping(function, groups, [worker], helpers, schema.names, len(helpers))
        last = hiding(merge, groups, helpers, len(helpers))
    split = placed.groupBy(worker, *key.columns)
    parts = _applied(split, partial, StructType([*schema.fields, *kept]), groups)
    return _applied(parts.groupBy(*(field.name for field in kept)), last, schema, groups)


def _takes_batches(function: Function, merge: Function) -> bool:
    return form_of(function).iterator or form_of(merge).iterator


def _marked(
    placed: DataFrame, key: KeyColumns, worker: str, helpers: Sequence[str], cut: KeyHashes
) -> DataFrame:
    """Rows of whole keys with their worker instead of their key: all that the second step needs."""
    is_cut = key.hash.isin(cut.view(np.int64).tolist())
    keys = {name: F.when(is_cut, F.col(name)) for name in helpers}
    return placed.withColumns({_WHOLE: F.when(~is_cut, F.col(worker)), **keys})


def _applied(grouped, function: Function, schema: StructType, groups: Groups) -> DataFrame:  # type: ignore[no-untyped-def]
    apply = grouped.applyInArrow if isinstance(groups, ArrowGroups) else grouped.applyInPandas
    result: DataFrame = apply(function, schema)
    return result


def check_merge(merge: Function, schema: StructType, groups: Groups) -> None:
    """Refuse a merge function that changes the schema: it is tried on no rows at all."""
    if form_of(merge).with_key:
        raise SchemaError("merge takes partial results only; add the key to the schema to see it")
    if form_of(merge).iterator:
        return
    empty = arrow_schema(schema).empty_table()
    tried = empty if isinstance(groups, ArrowGroups) else empty.to_pandas()
    try:
        result = merge(tried)
    except Exception as problem:  # It may well rely on rows being there; the job will tell.
        _log.debug("merge could not be tried on no rows: %r", problem)
        return
    _check_result(result, empty.schema, groups)


def _check_result(result: object, wanted: pa.Schema, groups: Groups) -> None:
    if isinstance(groups, PandasGroups):
        if not isinstance(result, pd.DataFrame):
            raise SchemaError(f"merge returned {type(result).__name__}; give a pandas DataFrame")
        if result.shape != (0, 0) and set(map(str, result.columns)) != set(wanted.names):
            raise SchemaError(
                f"merge returned the columns {', '.join(map(str, result.columns))}; "
                f"the schema has {', '.join(wanted.names)}"
            )
        return
    if not isinstance(result, pa.Table):
        raise SchemaError(f"merge returned {type(result).__name__}; give a pyarrow Table")
    found = {field.name: field.type for field in result.schema}
    if found and found != {field.name: field.type for field in wanted}:
        raise SchemaError(
            f"merge returned {_in_words(result.schema)}; the schema is {_in_words(wanted)}"
        )


def _in_words(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)


def check_keys_merge(key: KeyColumns, groups: Groups) -> None:
    """Refuse keys that pandas cannot carry."""
    if isinstance(groups, ArrowGroups):
        return
    for field in key.fields:
        name, kind = field.name, field.dataType
        if isinstance(kind, StructType | ArrayType) or _is_collated(kind):
            raise KeyTypeError(
                f"column {name!r} is {kind.simpleString()}: pandas would change such a key on its "
                "way to the merge; use applyInArrow(..., merge=...)"
            )


def _is_collated(kind: DataType) -> bool:
    return isinstance(kind, StringType) and kind.simpleString() != "string"


def _key_columns(key: KeyColumns, helpers: Sequence[str], groups: Groups) -> dict[str, Column]:
    if isinstance(groups, ArrowGroups):
        return dict(zip(helpers, key.columns, strict=True))
    return {
        helper: _as_text(column(field.name), field.dataType)
        for helper, field in zip(helpers, key.fields, strict=True)
    }


def _as_text(value: Column, kind: DataType) -> Column:
    if isinstance(kind, BinaryType):
        return F.hex(value)
    if isinstance(kind, TimestampType):
        # As text, an hour of each autumn would stand for two.
        return F.unix_micros(value).cast("string")
    if kind.typeName() in ("float", "double"):
        return F.when(value == 0, F.lit("0.0")).otherwise(value.cast("string"))
    return value.cast("string")
