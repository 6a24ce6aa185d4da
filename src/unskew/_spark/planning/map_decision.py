"""The decision how a map of rows that differ in cost runs: the way with the least forecast time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame

from unskew._spark.frames.helper_columns import helper_name
from unskew._spark.frames.physical_plan import in_fixed_order
from unskew._spark.planning.cost_curve import CostCurve
from unskew._spark.planning.input import Input
from unskew._spark.planning.machine import Machine
from unskew._spark.planning.map_ways import AS_IS, KNOWN, LINE, MapJob, MapWay
from unskew._spark.planning.plan import WayForecast, weighed_lines
from unskew._spark.planning.row_costs import RowCosts, measured_costs
from unskew._spark.planning.side_jobs import beside, budget

ASSUMED = 10.0
"""Seconds of work for each slot where no earlier run tells."""
SHORT = 1.0
"""With less work than this for each slot there is nothing to gain."""
GAIN = 0.95
"""Forecasts err: rows move only for a clear gain."""
_SECONDS = 10.0
"""How long the pass over the costs may take: who gives them asks for it."""
MOST = 4096
"""Rows that are known one by one, at most: they are listed in the query's plan."""


@dataclass(frozen=True, slots=True, eq=False)
class MapPlan:
    """How a map runs, and why."""

    way: MapWay
    why: str
    ways: tuple[MapWay, ...] = ()
    """What was weighed, the quickest first."""
    costs: RowCosts | None = None
    """In seconds."""
    most_of_a_part: float | None = None
    """The cost that a batch should have at most, in the user's unit."""

    def explain(self) -> None:
        """Print the way, the reason and what was weighed."""
        print(self)

    def __str__(self) -> str:
        lines = [f"scheme    {self.way.name} for any-row work by cost", f"reason    {self.why}"]
        weighed = [WayForecast(each.name, each.tasks, each.seconds) for each in self.ways]
        lines.extend(weighed_lines(weighed))
        if self.costs is not None:
            lines.append(f"measured  {self.costs.rows:,} rows by a pass over their costs")
        if self.way.heavy:
            lines.append(f"routing   {self.way.heavy} rows alone and first, {self._others}")
        return "\n".join(lines)

    @property
    def _others(self) -> str:
        chunks = self.way.chunks
        return f"all others in {chunks} chunks" if chunks else "all others where they are"


@dataclass(frozen=True, slots=True)
class MapQuestion:
    """A map to be run."""

    rows: DataFrame
    cost: Column
    machine: Machine
    unit: float | CostCurve | None
    """Seconds of a unit of cost; None if they are not known."""
    always: bool = False
    """Whether rows go by cost, gain or not."""
    keep: Callable[[], object] | None = None
    """Keeps the rows, to be read twice, where they are costly to compute; None leaves those."""

    def decide(self) -> MapPlan:
        """Read the costs once, where that is cheap, and weigh the ways."""
        source = Input.of(self.rows.select("*", self.cost.alias(helper_name("cost", self.rows))))
        if not source.cheap:
            if self.keep is None:
                return left("the input is costly to compute, so that it is read once")
            self.keep()
        most = min(KNOWN * self.machine.slots, MOST)
        # As they will be placed: kept rows that are computed again may come in another order.
        ordered = in_fixed_order(self.rows)
        costs = beside(
            self.rows.sparkSession,
            "costs of the rows",
            budget(self.rows.sparkSession, least=_SECONDS),
            lambda: measured_costs(ordered, self.cost, most, source.partitions),
        )
        if costs is None:
            return left("the costs of the rows are 0, or could not be added up in time")
        return self._weighed(costs, source)

    def _weighed(self, measured: RowCosts, source: Input) -> MapPlan:
        slots = self.machine.slots
        costs, told = self._in_seconds(measured)
        # Rows that are a small part of a slot's share are level wherever they are.
        costs = costs.known(costs.total / slots / 16)
        partitions = max(source.partitions or 1, costs.partitions)
        job = MapJob(self.machine, costs, partitions, source.row_bytes, source.repeats)
        ways = job.ways()
        stay = next(way for way in ways if way.name == AS_IS)
        moves = next(way for way in ways if way.by_cost)
        way = moves if self.always or moves.seconds < GAIN * stay.seconds else stay
        others = ", ".join(f"{each.name} {each.seconds:.1f} s" for each in ways if each is not way)
        why = f"{way.seconds:.1f} s expected ({others}), {told}"
        return MapPlan(way, why, tuple(ways), costs, measured.total / slots / LINE)

    def _in_seconds(self, costs: RowCosts) -> tuple[RowCosts, str]:
        if isinstance(self.unit, CostCurve):
            return self.unit.in_seconds(costs), "by the times of an earlier run"
        if self.unit is not None:
            return costs.scaled(self.unit), "by the times of an earlier run"
        share = ASSUMED * self.machine.slots / costs.total
        return costs.scaled(share), f"if the work of a slot takes {ASSUMED:g} s"


def left(why: str) -> MapPlan:
    """The rows are left to Spark."""
    return MapPlan(MapWay(AS_IS, 0, 0.0), why)
