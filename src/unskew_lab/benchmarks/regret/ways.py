"""All ways to run a job on Spark: by hand, ours by name, and "auto"."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

import unskew
from unskew_lab.benchmarks.regret.by_hand import joined, ways_by_hand
from unskew_lab.benchmarks.regret.figures import AUTO, MEMORY, PLAIN
from unskew_lab.benchmarks.regret.inputs import Inputs
from unskew_lab.benchmarks.regret.jobs import SLOTS, Job
from unskew_lab.benchmarks.regret.racing import NotOfferedError, Way
from unskew_lab.benchmarks.regret.work import SCHEMA, highest_aggregate, merge_of, part_of
from unskew_lab.session import spark_settings

SCHEMES = {
    "mergeable": ("kg", "routing-table", "planned-split", "in-place"),
    "aggregate": ("kg", "routing-table", "planned-split", "in-place"),
    "whole-key": ("kg", "routing-table"),
    "join": ("kg", "routing-table", "planned-split", "copy"),
}
EARLIER_RUNS = 2


@dataclass(frozen=True)
class JobWays:
    """The ways of one job on its rows."""

    job: Job
    rows: DataFrame
    table: DataFrame | None
    """The other side, of a join."""
    memory: Path
    """Where "auto" remembers the job's runs."""
    forecasts: list[float | None] = field(default_factory=list)
    """What the plans of the runs of "auto" without memory expected, in their order."""

    @classmethod
    def of(cls, job: Job, inputs: Inputs) -> JobWays:
        """The ways of a job on all its rows."""
        table = inputs.table(job) if job.kind == "join" else None
        return cls(job, inputs.rows(job), table, inputs.folder / "memory")

    def all(self) -> list[Way]:
        """Plain Spark first, "auto" last."""
        by_hand = ways_by_hand(self.job, self.rows, self.table)
        plain = [
            Way(name, partial(self._run, way.make, way.settings)) for name, way in by_hand.items()
        ]
        named = [
            Way(f"{scheme}", partial(self._run, partial(self._ours, scheme), {}))
            for scheme in SCHEMES[self.job.kind]
        ]
        auto = partial(self._auto, self.forecasts)
        return [*plain, *named, Way(AUTO, auto, True), Way(MEMORY, self._remembering, True)]

    def learn(self) -> None:
        """Let "auto" remember the earlier runs, where the library has a memory."""
        for _ in range(EARLIER_RUNS):
            with suppress(NotOfferedError):
                self._remembering()

    def forecast_seconds(self) -> float | None:
        """What the plan of the latest run of "auto" expected, where plans say it."""
        return self.forecasts[-1] if self.forecasts else None

    def _auto(self, forecasts: list[float | None] | None = None) -> object:
        return self._run(partial(self._ours, "auto", forecasts), {})

    def _remembering(self) -> object:
        if not hasattr(unskew, "remember"):
            raise NotOfferedError("this version has no unskew.remember")
        unskew.remember(str(self.memory))
        try:
            return self._auto()
        finally:
            unskew.remember(None)

    def _ours(self, scheme: str, forecasts: list[float | None] | None = None) -> DataFrame:
        """The result; what its plan expects is added to `forecasts`."""
        made = self._made(scheme)
        if forecasts is not None and hasattr(unskew, "plan_of"):
            forecasts.append(unskew.plan_of(made).forecast_seconds)
        return made if self.table is None else joined(self.job, made)

    def _made(self, scheme: str) -> DataFrame:
        job, rows = self.job, self.rows
        if self.table is not None:
            named = self._named(unskew.join)
            return unskew.join(rows, self.table, "key", scheme=scheme, **named)
        grouped = unskew.groupBy(rows, "key", scheme=scheme, **self._named(unskew.groupBy))
        if job.kind == "aggregate":
            if job.cost:
                return grouped.agg(highest=highest_aggregate(job))
            return grouped.agg(n=unskew.count(), highest=unskew.max("value"))
        verb = getattr(grouped, job.verb)
        merge = merge_of(job) if job.kind == "mergeable" else None
        found: DataFrame = verb(part_of(job), SCHEMA, merge=merge)
        return found

    def _named(self, verb: Callable[..., object]) -> dict[str, Any]:
        """All jobs are called from one place of this file: their names keep them apart."""
        takes_name = "name" in inspect.signature(verb).parameters
        return {"name": self.job.name} if takes_name else {}

    def _run(self, make: Callable[[], DataFrame], settings: Mapping[str, str]) -> object:
        """All rows, in an order of ours; what decides at definition is part of the run."""
        if self.table is not None and not self.job.broadcast:
            settings = {**settings, "spark.sql.autoBroadcastJoinThreshold": "-1"}
        with spark_settings(self.rows.sparkSession, settings):
            found = make().toArrow()
        columns = [found[name].to_pylist() for name in sorted(found.column_names)]
        return sorted(zip(*columns, strict=True), key=repr)


def warm_up(jobs: Sequence[Job], inputs: Inputs) -> None:
    """Start the Python workers, and Spark's and our part of them: no way's first take is it."""
    firsts = {(job.kind, job.verb): job for job in reversed(jobs)}
    for job in firsts.values():
        ways = JobWays.of(job, inputs)
        few = ways.rows.limit(500).repartition(SLOTS).localCheckpoint()
        for way in JobWays(job, few, ways.table, ways.memory).all():
            if way.name in (PLAIN, "kg", AUTO):
                way.run()
