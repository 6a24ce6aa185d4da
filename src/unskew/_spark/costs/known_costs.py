"""A map whose costs are given, or known by key from an earlier run: planned, placed, recorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql.types import StructType

from unskew._spark.costs.cost_columns import cost_by_key, cost_by_number
from unskew._spark.costs.heavy_first import heavy_first
from unskew._spark.costs.parts import Form, InParts, MapFunction
from unskew._spark.costs.shares import Marks
from unskew._spark.frames.helper_columns import helper_name
from unskew._spark.frames.physical_plan import in_fixed_order
from unskew._spark.frames.prompt_tasks import Prompt
from unskew._spark.planning.cost_curve import CostCurve
from unskew._spark.planning.decision import DRIFTED
from unskew._spark.planning.job_names import fingerprint, job_name
from unskew._spark.planning.machine import Machine
from unskew._spark.planning.map_decision import SHORT, MapPlan, MapQuestion, left
from unskew._spark.planning.memory import Memory
from unskew._spark.planning.run_records import RecordPlace
from unskew._spark.planning.work_record import MOST_TRUSTED, WorkRecord

ENOUGH = 1024
"""So many timed rows tell what rows of a key take."""

Start = Callable[[int | None], RecordPlace | None]
"""Gives the place where a run of so many tasks writes what it learns."""


class Seen(NamedTuple):
    """What is known from earlier runs."""

    record: WorkRecord
    seconds: float
    """Of a run like the next one."""
    untimed: int = 0
    """How many runs before the next one took this, and were not timed."""
    keep: Callable[[], None] | None = None
    """Keeps that one more was not."""

    @property
    def settled(self) -> bool:
        """Whether many rows were timed, and about what they took was known before."""
        return self.record.rows >= ENOUGH and 0 < self.record.drift <= DRIFTED


@dataclass(frozen=True, slots=True)
class KnownCosts:
    """A map, and what tells its rows' costs: a number for each row, or a key of an earlier run."""

    function: MapFunction
    schema: StructType
    form: Form
    slots: int | None
    told_by: Marks
    column: Column
    """The cost, the hash of the key, or the key: DOUBLE if it is a number."""
    shown: tuple[str, ...]
    """The names of the columns that tell, for the name of the job."""
    name: str | None = None
    always: bool = False

    def run(self, rows: DataFrame) -> tuple[DataFrame, MapPlan]:
        """The result, and how it comes about."""
        memory = Memory.of(rows.sparkSession)
        if memory is None:
            return self.planned(rows, None, None)
        job = job_name(self.name, "map", self.shown, self.function)
        record = memory.recall(
            job, self.mark, by_table=self.told_by == "key", by_range=self.told_by == "number"
        )
        seen = None
        if record is not None:
            keep = partial(memory.keep_trusted, job, record)
            seen = Seen(record, record.seconds, record.trusted, keep)
        return self.planned(rows, seen, partial(memory.start_run, job, self.mark))

    def planned(
        self,
        rows: DataFrame,
        seen: Seen | None,
        start: Start | None,
        keep: Callable[[], object] | None = None,
    ) -> tuple[DataFrame, MapPlan]:
        """The same, by what was `seen`; `keep` as in `MapQuestion`."""
        plan = self._plan(rows, seen, start is not None, keep)
        place = None
        if seen is not None and self._is_enough(seen, rows):
            if seen.keep is not None:
                seen.keep()
        elif start is not None:
            place = start(plan.way.tasks if plan.way.chunks else None)
        return self._mapped(rows, plan, place), plan

    @property
    def mark(self) -> str:
        """What tells records of this map from others."""
        return fingerprint_of(self.function, self.form, self.shown, self.told_by)

    def _is_enough(self, seen: Seen, rows: DataFrame) -> bool:
        """Whether a run need not be timed, which cuts the batches of keys that are known.

        Now and then it is: costs may change. So is a short one, which may grow.
        """
        return (
            self.told_by != "cost"
            and seen.settled
            and seen.untimed < MOST_TRUSTED
            and not self._is_short(seen, self._machine(rows))
        )

    def _is_short(self, seen: Seen, machine: Machine) -> bool:
        return seen.seconds < SHORT * machine.slots

    def _machine(self, rows: DataFrame) -> Machine:
        machine = Machine.of(rows.sparkSession)
        if self.slots is None:
            return machine
        return Machine(self.slots, min(self.slots, machine.cores))

    def _plan(
        self,
        rows: DataFrame,
        seen: Seen | None,
        remembers: bool,
        keep: Callable[[], object] | None,
    ) -> MapPlan:
        machine = self._machine(rows)
        if seen is not None and self._is_short(seen, machine) and not self.always:
            return left(f"an earlier run took {seen.seconds:.1f} s on {machine.slots} slots")
        if self.told_by == "cost":
            unit = None if seen is None else CostCurve.of(seen.record)
            return MapQuestion(rows, self.column, machine, unit, self.always, keep).decide()
        if seen is None or not seen.record.rows:
            later = "this run tells the next" if remembers else "unskew.remember would keep it"
            return left(f"what rows of a key cost is not known yet; {later}")
        expected = cost_by_number if self.told_by == "number" else cost_by_key
        seconds = expected(seen.record, self.column)
        return MapQuestion(rows, seconds, machine, 1.0, self.always, keep).decide()

    def _mapped(self, rows: DataFrame, plan: MapPlan, place: RecordPlace | None) -> DataFrame:
        by_cost = self.told_by == "cost"
        limit = plan.most_of_a_part if by_cost else None
        cut = place is not None or (limit is not None and plan.way.by_cost)
        # No columns at all: Arrow would forget how many rows there are.
        cut = cut and bool(rows.columns)
        function = self.function
        if plan.way.by_cost:
            rows = in_fixed_order(rows)
        if cut:
            rows = rows.withColumn(helper_name("mark", rows), self.column)
            most = (limit or float("inf")) if by_cost else None
            function = InParts(self.function, self.form, most, place, self.told_by == "number")
        if plan.way.by_cost:
            assert plan.costs is not None
            rows = heavy_first(rows, plan.costs, plan.way)
        if self.form == "arrow":
            return rows.mapInArrow(Prompt(function), self.schema)
        return rows.mapInPandas(Prompt(function), self.schema)


def fingerprint_of(
    function: MapFunction, form: Form, shown: tuple[str, ...], told_by: Marks
) -> str:
    """Of a map: what is a cost in one may be a key in another of the same name."""
    return fingerprint(["map", form, *shown, told_by, function])
