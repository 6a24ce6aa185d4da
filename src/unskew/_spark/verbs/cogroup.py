"""Two DataFrames, group by group."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.pandas.group_ops import PandasCogroupedOps
from pyspark.sql.types import StructType

from unskew._spark.engine.group_functions import (
    ArrowGroups,
    Function,
    Groups,
    PandasGroups,
    form_of,
    hiding_both,
)
from unskew._spark.frames.keys import column
from unskew._spark.planning.pairs import check_same_types, route_both
from unskew._spark.planning.request import Wish
from unskew.errors import ParameterError
from unskew.partitioners import Need


@dataclass(frozen=True, slots=True)
class Cogrouped:
    """Two DataFrames with a key each, waiting for a function of both groups."""

    left: DataFrame
    right: DataFrame
    left_key: tuple[str, ...]
    right_key: tuple[str, ...]
    wish: Wish

    def __post_init__(self) -> None:
        if len(self.left_key) != len(self.right_key):
            raise ParameterError(
                f"cogroup by {self.left_key} and {self.right_key}: give both as many columns"
            )
        check_same_types(self.left, self.left_key, self.right, self.right_key)

    def applyInArrow(self, func: Function, schema: StructType | str) -> DataFrame:  # noqa: N802
        """Map both groups of each key by a function of two Arrow tables, the key first or not."""
        return self._applied(func, schema, ArrowGroups())

    def applyInPandas(self, func: Function, schema: StructType | str) -> DataFrame:  # noqa: N802
        """As `applyInArrow`, with pandas frames."""
        return self._applied(func, schema, PandasGroups())

    def _applied(self, func: Function, schema: StructType | str, groups: Groups) -> DataFrame:
        form_of(func, groups=2)
        self.wish.check(Need.WHOLE_KEY)
        routes = route_both(self.left, self.right, self.left_key, self.right_key, self.wish)
        keys = [list(map(column, key)) for key in (self.left_key, self.right_key)]
        if routes[0].plain:
            both = self.left.groupBy(*keys[0]).cogroup(self.right.groupBy(*keys[1]))
            return _apply(both, func, schema, groups)
        (left, here), (right, there) = (
            route.place(rows) for route, rows in zip(routes, (self.left, self.right), strict=True)
        )
        both = left.groupBy(here, *keys[0]).cogroup(right.groupBy(there, *keys[1]))
        hidden = hiding_both(func, groups, [here, there], len(self.left_key))
        return _apply(both, hidden, schema, groups)


def _apply(
    both: PandasCogroupedOps, func: Function, schema: StructType | str, groups: Groups
) -> DataFrame:
    if isinstance(groups, ArrowGroups):
        return both.applyInArrow(func, schema)
    return both.applyInPandas(func, schema)
