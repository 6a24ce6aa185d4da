"""`groupBy` as in PySpark, with the rows spread by a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql.types import StructType

from unskew._spark.engine.calls import Function
from unskew._spark.engine.group_functions import apply_and_merge, apply_to_groups, group_call
from unskew._spark.engine.spark_rules import GroupKind
from unskew._spark.frames.keys import check_rows, resolve_key
from unskew._spark.frames.schemas import struct_of
from unskew._spark.planning.cost_model import CostHints
from unskew._spark.planning.plan import Plan
from unskew._spark.planning.request import RoutingRequest
from unskew._spark.verbs.aggregate import aggregated
from unskew._spark.verbs.cogroup import Cogrouped
from unskew._spark.verbs.merge import check_merge
from unskew.aggregates import Aggregate
from unskew.errors import ParameterError, ParameterTypeError
from unskew.partitioners import Need, Partitioner


def groupBy(  # noqa: N802 - PySpark's name
    rows: DataFrame,
    *keys: str | int | Column | Sequence[str | int | Column],
    workers: int | None = None,
    scheme: str | Partitioner | Plan = "auto",
    seconds_per_row: float | None = None,
    pilot: bool = True,
    name: str | None = None,
    **settings: Any,
) -> Grouped:
    """Group rows by `keys`; the verb that follows decides how they are spread.

    Parameters
    ----------
    rows : DataFrame
        A batch of rows; for streams there is `unskew.streaming.groupBy`.
    *keys : str, Column, int, or a list of them
        The key as Spark's groupBy takes it: names of columns or of nested fields, expressions,
        positions from 1. None at all makes one group of all rows.
    workers : int, optional
        How many partitions to spread them over; if not given, as many as suit the session's slots
        and the work.
    scheme : str, Partitioner or Plan
        A way of routing rows by name, one with its settings (`PartialKey(workers=8, choices=5)`),
        or a plan made before; "in-place" lets every input partition make partial results of its
        own rows. "auto" weighs the legal ways by the seconds that each would take, and logs what
        it picks.
    seconds_per_row : float, optional
        What the function takes for a row; "auto" times the function on a few rows if not given.
    pilot : bool
        Whether "auto" may call the function for a few rows before the job, and throw the results
        away; False for functions with side effects.
    name : str, optional
        Under which `unskew.remember` keeps what the job learns; the place of the call if not given.
    **settings
        Of a named scheme: the parameters of its class (`scheme="pkg", choices=5`). Of "auto" and
        schemes made from frequencies what `plan` takes: capacities, epsilon, table, sample.

    Returns
    -------
    Grouped
        With `agg`, `applyInArrow`, `applyInPandas` and `cogroup`, as in PySpark.
    """
    check_rows("rows", rows)
    if rows.isStreaming:
        raise ParameterError("rows is a stream (readStream); use unskew.streaming.groupBy for it")
    given: list[Any] = []
    for each in keys:
        given.extend(each if isinstance(each, list | tuple) else [each])
    keyed, key = resolve_key(rows, given)
    return Grouped(
        RoutingRequest.of(
            keyed, key, need=Need.MERGEABLE, workers=workers, scheme=scheme, settings=settings
        ),
        CostHints.of(seconds_per_row, pilot, name),
    )


@dataclass(frozen=True, slots=True)
class Grouped:
    """Rows with a key, waiting for a verb."""

    request: RoutingRequest
    hints: CostHints

    def agg(self, *columns: Column | Aggregate, **named: Column | Aggregate) -> DataFrame:
        """One row for each key with the aggregates of its rows.

        Takes unskew's aggregates (`count`, `top_k` …), a user's own, and Spark's, as columns.
        What Spark combines before its shuffle is left to Spark, unless a scheme is asked for.
        """
        return aggregated(self.request, columns, named, self.hints)

    def applyInArrow(  # noqa: N802
        self, func: Function, schema: StructType | str, merge: Function | None = None
    ) -> DataFrame:
        """Map each group by a function of an Arrow table, or of an iterator of batches.

        Parameters
        ----------
        func : callable
            Takes the rows of a key, and before them the key if it has two arguments.
        schema : StructType or str
            The columns that it returns.
        merge : callable, optional
            Without it all rows of a key meet in one call. With it, `func` may be called for parts
            of a key, and `merge` turns the rows of all parts into the key's result; both return
            rows of `schema`.

        Returns
        -------
        DataFrame
            The rows of plain Spark's `applyInArrow`.
        """
        return self._applied(func, schema, merge, "arrow")

    def applyInPandas(  # noqa: N802
        self, func: Function, schema: StructType | str, merge: Function | None = None
    ) -> DataFrame:
        """As `applyInArrow`, with pandas frames."""
        return self._applied(func, schema, merge, "pandas")

    def cogroup(self, other: Grouped) -> Cogrouped:
        """Bring each group together with the other's group of the same key."""
        if not isinstance(other, Grouped):
            raise ParameterTypeError("other", other, "rows grouped by unskew.groupBy")
        return Cogrouped.of(self.request, other.request, self.hints, other.hints)

    def _applied(
        self, func: Function, schema: StructType | str, merge: Function | None, kind: GroupKind
    ) -> DataFrame:
        rows, struct = self.request.rows, struct_of(schema)
        call = group_call(rows, func, struct, kind)
        if merge is None:
            return apply_to_groups(self.request, call, self.hints)
        merging = group_call(rows, merge, struct, kind)
        check_merge(merging)
        return apply_and_merge(self.request, call, merging, self.hints)
