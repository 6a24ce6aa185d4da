"""`repartition` by key, with heavy keys where there is room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame

from unskew._spark.frames.keys import column, key_columns
from unskew._spark.planning.plan import Plan, default_workers
from unskew._spark.planning.request import Wish
from unskew._spark.routing.placement import place_by
from unskew.partitioners import Need
from unskew.partitioners.contract import need_named


def repartition(
    rows: DataFrame,
    key: str | Sequence[str],
    workers: int | None = None,
    *,
    scheme: str | Plan = "auto",
    need: Need | str = Need.WHOLE_KEY,
    **settings: Any,
) -> DataFrame:
    """The same rows on `workers` partitions, by key.

    Parameters
    ----------
    rows : DataFrame
        The rows.
    key : str or list of str
        The column or columns of the key.
    workers : int, optional
        How many partitions; the shuffle partitions of the session if not given.
    scheme : str or Plan
        A way of routing rows, or a plan made before.
    need : Need or {"whole-key", "mergeable", "any-row"}
        All rows of a key stay together unless this says that they may part.
    **settings
        What `plan` takes: capacities, epsilon, table, sample.

    Returns
    -------
    DataFrame
        The same rows and columns.
    """
    route = Wish(workers, scheme, settings).route(rows, key, need_named(need))
    if route.plain:
        count = default_workers(rows) if workers is None else workers
        return rows.repartition(count, *map(column, key_columns(rows, key)))
    return place_by(rows, route.key, route.partitioner, lowering=route.lowering, draw=route.draw)
