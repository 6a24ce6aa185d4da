"""Wrappers of a user's group function that hide helper columns from it.

Arrow and pandas groups need the same few operations; everything else is common to both.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple, Protocol, get_origin, get_type_hints

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from unskew._spark.frames.schemas import check_names, in_utc
from unskew.errors import ParameterError, ParameterTypeError

Function = Callable[..., Any]

RESULT = "the function's result"


class Groups(Protocol):
    """Operations on groups of one kind, Arrow or pandas, or on one batch of a group."""

    table: Any
    """The type of a whole group."""
    batch: Any
    """The type that an iterator function takes batches of."""
    keeps_keys: bool
    """Whether any key survives as it is; pandas has one NaN for null and NaN."""

    def apply(self, grouped: Any, function: Function, schema: StructType | str) -> DataFrame:
        """Spark's apply verb for these groups, on one grouped DataFrame or a cogrouped pair."""
        ...

    def of_arrow(self, table: pa.Table) -> Any:
        """An Arrow table as a group of this kind."""
        ...

    def drop(self, rows: Any, names: Sequence[str]) -> Any:
        """The rows without some columns."""
        ...

    def first(self, rows: Any, names: Sequence[str]) -> Any:
        """Some columns of the first row."""
        ...

    def attach(self, result: Any, first: Any, columns: Sequence[str]) -> Any:
        """The result's `columns`, each row with what `first` kept."""
        ...


class ArrowGroups:
    """Groups as Arrow tables."""

    table = pa.Table
    batch = pa.RecordBatch
    keeps_keys = True

    def apply(self, grouped: Any, function: Function, schema: StructType | str) -> DataFrame:
        """`applyInArrow`."""
        result: DataFrame = grouped.applyInArrow(function, schema)
        return result

    def of_arrow(self, table: pa.Table) -> Any:
        """The table itself."""
        return table

    def drop(self, rows: Any, names: Sequence[str]) -> Any:
        """The rows without some columns."""
        return rows.select([name for name in rows.schema.names if name not in names])

    def first(self, rows: Any, names: Sequence[str]) -> Any:
        """Some columns of the first row."""
        head = rows.select(list(names)).slice(0, 1)
        return head.cast(in_utc(head.schema))

    def select(self, result: Any, columns: Sequence[str]) -> Any:
        """The columns of a result in the order of the schema."""
        check_names(result.schema.names, columns, RESULT)
        return result.select(list(columns))

    def attach(self, result: Any, first: Any, columns: Sequence[str]) -> Any:
        """The result's `columns`, each row with what `first` kept."""
        if result.num_columns == 0 and result.num_rows == 0:
            return result
        kept = self.select(result, columns)
        repeated = first.take(pa.array(np.zeros(result.num_rows, dtype=np.int64)))
        return type(result).from_arrays(
            [*kept.columns, *repeated.columns], names=[*columns, *first.schema.names]
        )


class PandasGroups:
    """Groups as pandas DataFrames."""

    table = pd.DataFrame
    batch = pd.DataFrame
    keeps_keys = False

    def apply(self, grouped: Any, function: Function, schema: StructType | str) -> DataFrame:
        """`applyInPandas`."""
        result: DataFrame = grouped.applyInPandas(function, schema)
        return result

    def of_arrow(self, table: pa.Table) -> Any:
        """The table in pandas."""
        return table.to_pandas()

    def drop(self, rows: Any, names: Sequence[str]) -> Any:
        """The rows without some columns."""
        return rows.drop(columns=list(names))

    def first(self, rows: Any, names: Sequence[str]) -> Any:
        """Some columns of the first row."""
        return {name: rows[name].iloc[0] for name in names}

    def attach(self, result: Any, first: Any, columns: Sequence[str]) -> Any:
        """The result's `columns`, each row with what `first` kept."""
        if result.shape == (0, 0):
            return result
        if not all(isinstance(name, str) for name in result.columns):
            # Spark takes columns without names by their position.
            result = result.set_axis(list(columns), axis=1)
        check_names(result.columns, columns, RESULT)
        return result[list(columns)].assign(**first)


class CallForm(NamedTuple):
    """How a function is called."""

    with_key: bool
    iterator: bool


def form_of(function: Function, groups: int = 1) -> CallForm:
    """Whether a function of `groups` groups takes the key too, and whether it takes batches."""
    if not callable(function):
        raise ParameterTypeError("func", function, "a function of a group")
    parameters = inspect.signature(function).parameters
    if len(parameters) not in (groups, groups + 1):
        raise ParameterError(
            f"{_name(function)} takes {len(parameters)} arguments; "
            f"a function of a group takes {groups}, or {groups + 1} with the key first"
        )
    try:
        hints = get_type_hints(function)
    except (NameError, TypeError):
        hints = {}
    last = hints.get(list(parameters)[-1])
    return CallForm(len(parameters) == groups + 1, get_origin(last) is Iterator)


def hiding(function: Function, groups: Groups, helpers: Sequence[str], keys: int) -> Function:
    """Hide `helpers` from `function`; it gets the last `keys` columns of the group's key."""
    form = form_of(function)

    def call(key: Any, rows: Any) -> Any:
        seen = _each(form, rows, lambda batch: groups.drop(batch, helpers))
        return function(key[-keys:], seen) if form.with_key else function(seen)

    return annotated(call, groups, form)


def keeping(
    function: Function,
    groups: Groups,
    helpers: Sequence[str],
    kept: Sequence[str],
    columns: Sequence[str],
    keys: int,
) -> Function:
    """As `hiding`; each row of the result also gets the `kept` columns of its group."""
    form = form_of(function)
    inner = hiding(function, groups, [*helpers, *kept], keys)

    def call(key: Any, rows: Any) -> Any:
        if not form.iterator:
            return groups.attach(inner(key, rows), groups.first(rows, kept), columns)
        head = next(rows)
        first = groups.first(head, kept)
        return (groups.attach(batch, first, columns) for batch in inner(key, chain([head], rows)))

    return annotated(call, groups, form)


def finishing(
    function: Function,
    merge: Function,
    helpers: Sequence[str],
    kept: Sequence[str],
    whole: str,
    columns: Sequence[str],
) -> Function:
    """As `keeping`, for Arrow; results are merged right here where column `whole` is not null."""
    groups = ArrowGroups()
    inner = hiding(function, groups, [*helpers, *kept, whole], len(kept))

    def call(key: Any, rows: Any) -> Any:
        first = groups.first(rows, [*kept, whole])
        part = inner(key, rows)
        if part.num_rows and first[whole][0].is_valid:
            part = merge(groups.select(part, columns))
        return groups.attach(part, first, columns)

    return annotated(call, groups, CallForm(with_key=True, iterator=False))


def merging_the_rest(merge: Function, helpers: Sequence[str], columns: Sequence[str]) -> Function:
    """Merge the groups of one split key; pass on the groups of many whole keys.

    Groups are by key and, last, by the worker of a whole key.
    """
    groups = ArrowGroups()

    def call(key: Any, rows: Any) -> Any:
        shown = (groups.drop(batch, helpers) for batch in rows)
        if key[-1].is_valid:
            yield from shown
        else:
            merged = merge(pa.Table.from_batches(list(shown)))
            yield from groups.select(merged, columns).to_batches()

    return annotated(call, groups, CallForm(with_key=True, iterator=True))


def in_one_call(function: Function, merge: Function) -> Function | None:
    """Function and merge in one call, for whole keys; None if either takes batches."""
    form = form_of(function)
    if form.iterator or form_of(merge).iterator:
        return None

    def call(key: Any, rows: Any) -> Any:
        part = function(key, rows) if form.with_key else function(rows)
        # A part without rows never reaches a merge.
        return merge(part) if len(part) else part

    return annotated(call, ArrowGroups(), form)


def hiding_both(function: Function, groups: Groups, helpers: Sequence[str], keys: int) -> Function:
    """As `hiding`, for a function of two groups."""
    with_key = form_of(function, groups=2).with_key

    def call(key: Any, left: Any, right: Any) -> Any:
        pair = (groups.drop(left, helpers[:1]), groups.drop(right, helpers[1:]))
        return function(key[-keys:], *pair) if with_key else function(*pair)

    return call


def annotated(call: Function, groups: Groups, form: CallForm) -> Function:
    """Annotate `call`: Spark reads there whether a function takes whole groups or batches."""
    if form.iterator:
        batches = Iterator[groups.batch]  # type: ignore[name-defined]
        call.__annotations__ = {"key": tuple, "rows": batches, "return": batches}
    else:
        call.__annotations__ = {}
    return call


def _each(form: CallForm, rows: Any, change: Callable[[Any], Any]) -> Any:
    return map(change, rows) if form.iterator else change(rows)


def _name(function: Function) -> str:
    return str(getattr(function, "__name__", repr(function)))
