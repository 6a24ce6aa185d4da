"""Two DataFrames, group by group."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from unskew._spark.engine.calls import Function
from unskew._spark.engine.group_functions import apply_to_pairs, group_call
from unskew._spark.engine.spark_rules import GroupKind
from unskew._spark.frames.schemas import struct_of
from unskew._spark.planning.cost_model import CostHints
from unskew._spark.planning.request import RoutingRequest, check_same_types
from unskew.errors import ParameterError


@dataclass(frozen=True, slots=True)
class Cogrouped:
    """Two DataFrames with a key each, waiting for a function of both groups."""

    left: RoutingRequest
    right: RoutingRequest
    hints: CostHints
    """The left side's."""

    @classmethod
    def of(
        cls, left: RoutingRequest, right: RoutingRequest, hints: CostHints, others: CostHints
    ) -> Cogrouped:
        """Check that both sides can be routed alike; the right side takes the left's route."""
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
        if others not in (hints, CostHints()):
            raise ParameterError(
                "a cogroup has one function, and the right side tells of its cost or its job; give "
                "seconds_per_row, pilot and name to the left groupBy only"
            )
        return cls(left, right.routed_as(left), hints)

    def applyInArrow(self, func: Function, schema: StructType | str) -> DataFrame:  # noqa: N802
        """Map both groups of each key by a function of two Arrow tables, the key first or not."""
        return self._applied(func, schema, "arrow")

    def applyInPandas(self, func: Function, schema: StructType | str) -> DataFrame:  # noqa: N802
        """As `applyInArrow`, with pandas frames."""
        return self._applied(func, schema, "pandas")

    def _applied(self, func: Function, schema: StructType | str, kind: GroupKind) -> DataFrame:
        call = group_call(self.left.rows, func, struct_of(schema), kind, groups=2)
        return apply_to_pairs(self.left, self.right, call, self.hints)
