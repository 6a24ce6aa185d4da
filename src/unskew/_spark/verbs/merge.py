"""Group functions with a merge: called once per worker and key, merged once per key.

The key travels beside the partial result in helper columns. Arrow carries any key as it is.
pandas does not (it has one NaN for null and NaN), so there the helpers are text.

Most keys of a planned split are whole. Theirs is merged where it was made: the second step gets
such results in bulk, a worker's at a time, and calls the merge for the keys that were cut alone.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, IntegerType, StructField, StructType

from unskew._spark.engine.group_functions import (
    Function,
    Groups,
    finishing,
    form_of,
    hiding,
    keeping,
    merging_the_rest,
)
from unskew._spark.frames.helper_columns import helper_name
from unskew._spark.frames.key_text import is_collated, text_of
from unskew._spark.frames.keys import KeyColumns, column
from unskew._spark.frames.schemas import arrow_schema, check_names
from unskew._spark.routing.route import Route
from unskew.errors import KeyTypeError, SchemaError
from unskew.partitioners.contract import KeyHashes

_log = logging.getLogger("unskew")


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
    # Beside the rows going in, and beside the function's result coming out.
    helpers = [helper_name(f"key{place}", rows, schema.names) for place in range(len(key.fields))]
    pairs = zip(helpers, key.fields, strict=True)
    keyed = rows.withColumns({helper: _travelling(field, groups) for helper, field in pairs})
    kept = [StructField(name, keyed.schema[name].dataType) for name in helpers]
    placed, worker = route.place(keyed, key)
    static = route.partitioner.static
    cut = None if static is None else static.cut
    if cut is not None and groups.keeps_keys and not _takes_batches(function, merge):
        whole = helper_name("whole", placed, schema.names)
        kept.append(StructField(whole, IntegerType()))
        placed = _marked(placed, key, worker, helpers, whole, cut)
        partial = finishing(function, merge, [worker], helpers, whole, schema.names)
        last = merging_the_rest(merge, [*helpers, whole], schema.names)
    else:
        partial = keeping(function, groups, [worker], helpers, schema.names, len(helpers))
        last = hiding(merge, groups, helpers, len(helpers))
    split = placed.groupBy(worker, *key.columns)
    parts = groups.apply(split, partial, StructType([*schema.fields, *kept]))
    return groups.apply(parts.groupBy(*(field.name for field in kept)), last, schema)


def _takes_batches(function: Function, merge: Function) -> bool:
    return form_of(function).iterator or form_of(merge).iterator


def _marked(
    placed: DataFrame,
    key: KeyColumns,
    worker: str,
    helpers: Sequence[str],
    whole: str,
    cut: KeyHashes,
) -> DataFrame:
    """Replace the key helpers of whole keys by the worker that has them, in the column `whole`.

    That is all that the second step needs; `whole` is null for the keys that were cut.
    """
    is_cut = key.hash.isin(cut.view(np.int64).tolist())
    keys = {name: F.when(is_cut, F.col(name)) for name in helpers}
    return placed.withColumns({whole: F.when(~is_cut, F.col(worker)), **keys})


def check_merge(merge: Function, schema: StructType, groups: Groups) -> None:
    """Raise if the merge function changes the schema: it is called once without rows."""
    if form_of(merge).with_key:
        raise SchemaError("merge takes partial results only; add the key to the schema to see it")
    if form_of(merge).iterator:
        return
    empty = arrow_schema(schema).empty_table()
    try:
        result = merge(groups.of_arrow(empty))
    except Exception as problem:  # It may well rely on rows being there; the job will tell.
        _log.debug("merge could not be called without rows: %r", problem)
        return
    if not isinstance(result, groups.table):
        wanted = f"{groups.table.__module__.split('.')[0]} {groups.table.__name__}"
        raise SchemaError(f"merge returned {type(result).__name__}; return a {wanted}")
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


def check_keys_merge(key: KeyColumns, groups: Groups) -> None:
    """Raise for keys that pandas cannot carry."""
    if groups.keeps_keys:
        return
    for field in key.fields:
        name, kind = field.name, field.dataType
        if isinstance(kind, StructType | ArrayType) or is_collated(kind):
            raise KeyTypeError(
                f"column {name!r} is {kind.simpleString()}: pandas would change such a key on its "
                "way to the merge; use applyInArrow(..., merge=...)"
            )


def _travelling(field: StructField, groups: Groups) -> Column:
    """A key column in the form in which it travels beside the partial results."""
    value = column(field.name)
    return value if groups.keeps_keys else text_of(value, field.dataType)
