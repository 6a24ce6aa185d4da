"""Two DataFrames, group by group."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from unskew._spark.engine.group_functions import (
    ArrowGroups,
    Function,
    Groups,
    PandasGroups,
    form_of,
    hiding_both,
)
from unskew._spark.planning.request import RoutingRequest, check_same_types, plan_pair
from unskew.errors import ParameterError
from unskew.partitioners import Need


@dataclass(frozen=True, slots=True)
class Cogrouped:
    """Two DataFrames with a key each, waiting for a function of both groups."""

    left: RoutingRequest
    right: RoutingRequest

    @classmethod
    def of(cls, left: RoutingRequest, right: RoutingRequest) -> Cogrouped:
        """Check that both sides can be routed alike."""
        if len(left.key.names) != len(right.key.names):
            raise ParameterError(
                f"cogroup by {left.key.names} and {right.key.names}: give both as many columns"
            )
        check_same_types(left.key, right.key)
        if right.given not in (left.given, {"workers": None, "scheme": "auto"}):
            asked = ", ".join(f"{name}={value!r}" for name, value in right.given.items())
            raise ParameterError(
                f"both sides of a cogroup take one route, and the right side asks for {asked}; "
                "give workers, scheme and settings to the left groupBy only"
            )
        return cls(left, right)

    def applyInArrow(self, func: Function, schema: StructType | str) -> DataFrame:  # noqa: N802
        """Map both groups of each key by a function of two Arrow tables, the key first or not."""
        return self._applied(func, schema, ArrowGroups())

    def applyInPandas(self, func: Function, schema: StructType | str) -> DataFrame:  # noqa: N802
        """As `applyInArrow`, with pandas frames."""
        return self._applied(func, schema, PandasGroups())

    def _applied(self, func: Function, schema: StructType | str, groups: Groups) -> DataFrame:
        form_of(func, groups=2)
        left, right = self.left, self.right
        route = plan_pair(left.needing(Need.WHOLE_KEY), right).route
        here, there = left.key.columns, right.key.columns
        if route.plain:
            both = left.rows.groupBy(*here).cogroup(right.rows.groupBy(*there))
            return groups.apply(both, func, schema)
        placed_left, left_worker = route.place(left.rows, left.key)
        placed_right, right_worker = route.place(right.rows, right.key)
        both = placed_left.groupBy(left_worker, *here).cogroup(
            placed_right.groupBy(right_worker, *there)
        )
        hidden = hiding_both(func, groups, [left_worker, right_worker], len(here))
        return groups.apply(both, hidden, schema)
