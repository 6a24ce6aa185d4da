"""`groupBy` as in PySpark, with the rows spread by a plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, GroupedData
from pyspark.sql.types import StructType

from unskew._spark.engine.group_functions import (
    ArrowGroups,
    Function,
    Groups,
    PandasGroups,
    form_of,
    hiding,
    in_one_call,
)
from unskew._spark.frames.keys import check_rows
from unskew._spark.frames.schemas import struct_of
from unskew._spark.planning.plan import Plan
from unskew._spark.planning.request import RoutingRequest
from unskew._spark.verbs.aggregate import aggregated
from unskew._spark.verbs.cogroup import Cogrouped
from unskew._spark.verbs.merge import apply_and_merge, check_keys_merge, check_merge
from unskew.aggregates import Aggregate
from unskew.errors import ParameterError, ParameterTypeError
from unskew.partitioners import Need


def groupBy(  # noqa: N802 - PySpark's name
    rows: DataFrame,
    *keys: str | Sequence[str],
    workers: int | None = None,
    scheme: str | Plan = "auto",
    **settings: Any,
) -> Grouped:
    """Group rows by the columns `keys`; the verb that follows decides how they are spread.

    Parameters
    ----------
    rows : DataFrame
        A batch of rows; for streams there is `unskew.streaming.groupBy`.
    *keys : str or list of str
        The names of the key's columns.
    workers : int, optional
        How many partitions to spread them over; the shuffle partitions of the session if not
        given.
    scheme : str or Plan
        A way of routing rows, or a plan made before; "auto" reads the keys' frequencies in one
        pass, picks by need and skew, and logs why.
    **settings
        What `plan` takes: capacities, epsilon, table, sample.

    Returns
    -------
    Grouped
        With `agg`, `applyInArrow`, `applyInPandas` and `cogroup`, as in PySpark.
    """
    check_rows("rows", rows)
    names: list[Any] = []
    for key in keys:
        names.extend(key if isinstance(key, list | tuple) else [key])
    for name in names:
        if not isinstance(name, str):
            raise ParameterError(
                f"groupBy takes column names, not {type(name).__name__}; "
                "add the expression to the rows with withColumn first"
            )
    return Grouped(
        RoutingRequest.of(
            rows, names, need=Need.MERGEABLE, workers=workers, scheme=scheme, settings=settings
        )
    )


@dataclass(frozen=True, slots=True)
class Grouped:
    """Rows with a key, waiting for a verb."""

    request: RoutingRequest

    def agg(self, *columns: Column | Aggregate, **named: Column | Aggregate) -> DataFrame:
        """One row for each key with the aggregates of its rows.

        Takes unskew's aggregates (`count`, `top_k` …), a user's own, and Spark's, as columns.
        What Spark combines before its shuffle is left to Spark, unless a scheme is asked for.
        """
        return aggregated(self.request, columns, named)

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
        return self._applied(func, schema, merge, ArrowGroups())

    def applyInPandas(  # noqa: N802
        self, func: Function, schema: StructType | str, merge: Function | None = None
    ) -> DataFrame:
        """As `applyInArrow`, with pandas frames."""
        return self._applied(func, schema, merge, PandasGroups())

    def cogroup(self, other: Grouped) -> Cogrouped:
        """Bring each group together with the other's group of the same key."""
        if not isinstance(other, Grouped):
            raise ParameterTypeError("other", other, "rows grouped by unskew.groupBy")
        return Cogrouped.of(self.request, other.request)

    def _applied(
        self, func: Function, schema: StructType | str, merge: Function | None, groups: Groups
    ) -> DataFrame:
        form_of(func)
        schema = struct_of(schema)
        if merge is not None:
            return self._merged(func, schema, merge, groups)
        request = self.request.needing(Need.WHOLE_KEY)
        route = request.plan().route
        if route.plain:
            return groups.apply(self._plain(), func, schema)
        placed, worker = route.place(request.rows, request.key)
        hidden = hiding(func, groups, [worker], len(request.key.names))
        return groups.apply(placed.groupBy(worker, *request.key.columns), hidden, schema)

    def _merged(
        self, func: Function, schema: StructType, merge: Function, groups: Groups
    ) -> DataFrame:
        request = self.request
        check_keys_merge(request.key, groups)
        check_merge(merge, schema, groups)
        route = request.plan().route
        whole = in_one_call(func, merge)
        if route.plain and whole is not None:
            return groups.apply(self._plain(), whole, schema)
        return apply_and_merge(request.rows, request.key, route, func, schema, merge, groups)

    def _plain(self) -> GroupedData:
        rows, key = self.request.rows, self.request.key.columns
        if self.request.given["workers"] is not None:
            # Given a number, Spark does not pack costly groups into fewer tasks for being small.
            rows = rows.repartition(self.request.workers, *key)
        return rows.groupBy(*key)
