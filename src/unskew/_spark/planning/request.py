"""Which way the rows of one verb go: by a plan, by a named scheme, or as plain Spark sends them."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from unskew._spark.frames.keys import key_columns
from unskew._spark.planning.choice import check_legal
from unskew._spark.planning.plan import Plan, default_workers, plan
from unskew._spark.planning.statistics import check_sample, check_table
from unskew._spark.routing.placement import place
from unskew._spark.routing.worker_column import WORKER, Draw, Lowering, free_name, with_worker
from unskew.errors import NeedError, ParameterError, UnknownNameError
from unskew.partitioners import KeyGrouping, Need, Partitioner
from unskew.partitioners.contract import check_epsilon, check_workers
from unskew.partitioners.serialization import build

_log = logging.getLogger("unskew")

MEASURED = ("auto", "planned-split", "routing-table", "offline-greedy")
"""Schemes that are drawn up from the frequencies of the keys."""

SETTINGS = ("capacities", "epsilon", "table", "sample")
"""What a verb hands on to `plan`."""


@dataclass(frozen=True, slots=True)
class Route:
    """A partitioner for the rows of one DataFrame, or the word to leave them to Spark."""

    key: tuple[str, ...]
    partitioner: Partitioner
    lowering: Lowering = "auto"
    draw: Draw = "content"
    plain: bool = False

    @property
    def workers(self) -> int:
        """How many workers the rows are spread over."""
        return self.partitioner.workers

    def place(self, rows: DataFrame) -> tuple[DataFrame, str]:
        """The rows on their workers' partitions, and the name of the worker column."""
        name = free_name(rows, WORKER)
        routed = with_worker(
            rows, self.key, self.partitioner, name=name, lowering=self.lowering, draw=self.draw
        )
        return place(routed, name, self.workers), name


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user asks of a verb, before anything is measured."""

    workers: int | None
    scheme: str | Plan
    settings: Mapping[str, Any]

    def check(self, need: Need) -> None:
        """Refuse what cannot be, before any job runs."""
        if self.workers is not None:
            check_workers(self.workers)
        self._check_settings()
        if isinstance(self.scheme, Plan):
            _check_given(self.scheme, need, self.workers)
            _check_bound(self.scheme, self.settings)
        elif self.scheme != "auto":
            check_legal(self.scheme, need)

    def _check_settings(self) -> None:
        for name in self.settings:
            if name not in SETTINGS:
                raise UnknownNameError("setting", name, SETTINGS)
        check_epsilon(self.settings.get("epsilon", 1.0))
        check_sample(self.settings.get("sample"))
        check_table(self.settings.get("table", 0))

    def route(self, rows: DataFrame, key: str | Sequence[str], need: Need) -> Route:
        """Decide, reading the rows once if the scheme asks for the keys' frequencies."""
        self.check(need)
        columns = tuple(key_columns(rows, key))
        if isinstance(self.scheme, Plan):
            return _given(self.scheme, columns)
        if self.scheme not in MEASURED:
            workers = default_workers(rows) if self.workers is None else self.workers
            return Route(columns, build(self.scheme, workers))
        made = plan(rows, columns, self.workers, need=need, scheme=self.scheme, **self.settings)
        return _given(made, columns)


def leave_to_spark(columns: Sequence[str], why: str) -> Route:
    """No route at all, and the reason in the log."""
    _log.info("plain Spark: %s", why)
    return Route(tuple(columns), KeyGrouping(1), plain=True)


def _given(made: Plan, columns: tuple[str, ...]) -> Route:
    if made.key != columns:
        raise ParameterError(f"the plan is for the key {made.key}, but the rows are by {columns}")
    return Route(columns, made.partitioner, made.lowering, made.draw, made.plain)


def _check_given(made: Plan, need: Need, workers: int | None) -> None:
    if workers not in (None, made.workers):
        raise ParameterError(f"workers={workers}, but the plan has workers={made.workers}")
    if not made.partitioner.need.keeps(need):
        raise NeedError(
            f"the plan's {made.partitioner.scheme} does not keep the promise {need.value}; "
            f"make one with plan(..., need={need.value!r})"
        )


def _check_bound(made: Plan, settings: Mapping[str, Any]) -> None:
    for name in settings:
        if name != "table":
            raise ParameterError(
                f"{name} shapes a plan, and this one is made; give it to plan(...)"
            )
    entries = getattr(made.partitioner, "keys", ())
    if len(entries) > settings.get("table", len(entries)):
        raise ParameterError(
            f"the plan names {len(entries)} keys, more than table={settings['table']}; "
            f"make one with plan(..., table={settings['table']})"
        )
