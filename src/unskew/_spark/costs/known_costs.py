"""A map whose costs are given, or known by key from an earlier run: planned, placed, recorded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from unskew._spark.costs.heavy_first import heavy_first
from unskew._spark.costs.parts import Form, InParts, MapFunction
from unskew._spark.frames.helper_columns import helper_name
from unskew._spark.frames.physical_plan import in_fixed_order
from unskew._spark.frames.prompt_tasks import Prompt
from unskew._spark.planning.cost_curve import CostCurve
from unskew._spark.planning.job_names import fingerprint, job_name
from unskew._spark.planning.machine import Machine
from unskew._spark.planning.map_decision import SHORT, MapPlan, MapQuestion, left
from unskew._spark.planning.memory import Memory
from unskew._spark.planning.run_records import RecordPlace
from unskew._spark.planning.work_record import WorkRecord
from unskew._spark.routing.native import PerfectTable, array_literal, looked_up

MOST_KEYS = 1024
"""Keys whose rows have an expected cost of their own: the costliest."""

_MICROSECOND = 1e-6

Start = Callable[[int | None], RecordPlace | None]
"""Gives the place where a run of so many tasks writes what it learns."""


class Seen(NamedTuple):
    """What is known from earlier runs."""

    record: WorkRecord
    seconds: float
    """Of a run like the next one."""


@dataclass(frozen=True, slots=True)
class KnownCosts:
    """A map, and what tells its rows' costs: a number for each row, or a key of an earlier run."""

    function: MapFunction
    schema: StructType
    form: Form
    slots: int | None
    cost: Column | None
    """The cost itself, DOUBLE; None if there is a key."""
    key_hash: Column | None
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
        record = memory.recall(job, self.mark, self.key_hash is not None)
        seen = None if record is None else Seen(record, record.seconds)
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
        if start is not None:
            place = start(plan.way.tasks if plan.way.chunks else None)
        return self._mapped(rows, plan, place), plan

    @property
    def mark(self) -> str:
        """What tells records of this map from others."""
        return fingerprint_of(self.function, self.form, self.shown, self.key_hash is not None)

    def _plan(
        self,
        rows: DataFrame,
        seen: Seen | None,
        remembers: bool,
        keep: Callable[[], object] | None,
    ) -> MapPlan:
        machine = Machine.of(rows.sparkSession)
        if self.slots is not None:
            machine = Machine(self.slots, min(self.slots, machine.cores))
        if seen is not None and seen.seconds < SHORT * machine.slots and not self.always:
            return left(f"an earlier run took {seen.seconds:.1f} s on {machine.slots} slots")
        if self.cost is not None:
            unit = None if seen is None else CostCurve.of(seen.record)
            return MapQuestion(rows, self.cost, machine, unit, self.always, keep).decide()
        assert self.key_hash is not None
        if seen is None or not seen.record.rows:
            later = "this run tells the next" if remembers else "unskew.remember would keep it"
            return left(f"what rows of a key cost is not known yet; {later}")
        by_key = cost_by_key(seen.record, self.key_hash)
        return MapQuestion(rows, by_key, machine, 1.0, self.always, keep).decide()

    def _mapped(self, rows: DataFrame, plan: MapPlan, place: RecordPlace | None) -> DataFrame:
        limit = plan.most_of_a_part if self.cost is not None else None
        cut = place is not None or (limit is not None and plan.way.by_cost)
        # No columns at all: Arrow would forget how many rows there are.
        cut = cut and bool(rows.columns)
        function = self.function
        if plan.way.by_cost:
            rows = in_fixed_order(rows)
        if cut:
            marks = self.cost if self.cost is not None else self.key_hash
            assert marks is not None
            rows = rows.withColumn(helper_name("mark", rows), marks)
            most = (limit or float("inf")) if self.cost is not None else None
            function = InParts(self.function, self.form, most, place)
        if plan.way.by_cost:
            assert plan.costs is not None
            rows = heavy_first(rows, plan.costs, plan.way)
        if self.form == "arrow":
            return rows.mapInArrow(Prompt(function), self.schema)
        return rows.mapInPandas(Prompt(function), self.schema)


def fingerprint_of(function: MapFunction, form: Form, shown: tuple[str, ...], by_key: bool) -> str:
    """Of a map: what is a cost in one may be a key in another of the same name."""
    return fingerprint(["map", form, *shown, by_key, function])


def cost_by_key(record: WorkRecord, key_hash: Column) -> Column:
    """The expected seconds of a row: of its key if that is costly, else of all other keys."""
    each = record.key_seconds / np.maximum(record.key_rows, 1)
    costly = np.argsort(-each, kind="stable")[:MOST_KEYS]
    seconds = record.seconds - float(record.key_seconds[costly].sum())
    rows = record.rows - int(record.key_rows[costly].sum())
    other = max(seconds, 0.0) / max(rows, 1)

    def found(table: PerfectTable, slot: Column) -> Column:
        whole = np.ceil(each[costly] / _MICROSECOND).astype(np.int64)
        number = F.get(array_literal(table.spread(whole, 0), "bigint"), slot)
        return number.cast("double") * F.lit(_MICROSECOND)

    return looked_up(record.keys[costly], key_hash, found, F.lit(other))
