"""The door for streams: a streaming plan is fixed when the query starts.

Either the router learns online, in every task of every micro-batch, or its table is made before.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from unskew._spark.frames.keys import KeyColumns
from unskew._spark.frames.physical_plan import check_stream_order
from unskew._spark.planning.plan import Plan
from unskew._spark.planning.request import RoutingRequest
from unskew._spark.planning.scheme import MEASURED, Scheme, check_reports, check_scheme, requested
from unskew._spark.routing.route import IN_PLACE, Lowering, Route
from unskew.errors import ParameterError
from unskew.partitioners import KeyGrouping, Need
from unskew.partitioners.serialization import build

_REPORTS = "workers report in the simulator, and to cg in replanned"
"""What a user may do whose settings say how reports are used."""

_log = logging.getLogger("unskew")

LEARNING = "w-choices"
"""What "auto" takes where nothing is known of the keys: level from the first hundred rows of a
task on, with fewer replicas than PoRC on batches of any size. Two choices are not enough for a key
with more than 2 / workers of the rows."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The route of a stream's rows, and why in one sentence."""

    key: KeyColumns
    """The columns that decide the route: some or all of the grouping key's."""
    route: Route
    why: str

    def __str__(self) -> str:
        if self.route.plain:
            return f"plain Spark: {self.why}"
        scheme = self.route.partitioner.scheme
        return f"{scheme} on {self.route.workers} workers: {self.why}"


@dataclass(frozen=True, slots=True, eq=False)
class StreamRequest:
    """How the user wants the rows of a stream routed; all of it is checked."""

    request: RoutingRequest
    history: DataFrame | None
    """Rows whose keys are like those to come."""

    @classmethod
    def of(
        cls,
        stream: DataFrame,
        key: Sequence[str],
        *,
        workers: int | None,
        scheme: Scheme,
        history: DataFrame | None,
        settings: Mapping[str, Any],
    ) -> StreamRequest:
        """Check everything that can be checked before the query starts."""
        check_scheme(scheme)
        if (scheme.route.name if isinstance(scheme, Plan) else scheme) == IN_PLACE:
            raise ParameterError(
                f"scheme={IN_PLACE!r} is for batches; name a scheme that places the rows"
            )
        _check_history(history, scheme, settings)
        routed = [name for name in key if history is None or name in history.columns]
        if isinstance(scheme, Plan) and set(scheme.key) <= set(key):
            routed = list(scheme.key)
        request = RoutingRequest.of(
            stream, routed, need=Need.MERGEABLE, workers=workers, scheme=scheme, settings=settings
        )
        return cls(request, history)

    @property
    def scheme(self) -> Scheme:
        """The scheme, with its settings unless a plan is to be made for it."""
        return self.request.scheme

    @property
    def settings(self) -> dict[str, Any]:
        """The settings as the user gave them."""
        given = self.request.given
        return {name: given[name] for name in given if name not in ("workers", "scheme")}

    @property
    def workers(self) -> int:
        """How many workers the rows are spread over."""
        return self.request.workers

    def decide(self) -> Decision:
        """The route of rows whose partial results are made in Python; logged."""
        return self._logged(*self._decided())

    def left_to_spark(self, why: str) -> Decision:
        """Spark does the whole aggregation."""
        return self._logged(Route.to_spark(self.workers), why)

    def _decided(self) -> tuple[Route, str]:
        scheme = self.scheme
        if isinstance(scheme, Plan):
            return self._planned(scheme, "a plan made before")
        if not isinstance(scheme, str):
            check_reports(scheme, _REPORTS)
            alike = self._rows_are_keys and scheme.cut is not None and scheme.cut.size
            route = Route.of(scheme, "online" if alike else None)
            return self._checked(route), requested(scheme)
        if self.history is not None:
            made = RoutingRequest.of(
                self.history,
                self.request.key.names,
                need=Need.MERGEABLE,
                workers=self.workers,
                scheme=scheme,
                settings=self.settings,
            ).plan()
            made.check_key(self.request.key)
            return self._planned(made, f"planned from history; {made.why}")
        if scheme != "auto":
            raise ParameterError(
                f"{scheme} is made from frequencies, and a stream cannot be read in advance: "
                "give history=, rows whose keys are like those to come, or a plan made of them; "
                f"{LEARNING} learns as it routes, and replanned plans between batches"
            )
        why = "nothing is known of the keys, so every task learns them"
        return self._checked(Route.of(build(LEARNING, self.workers))), why

    def _planned(self, made: Plan, why: str) -> tuple[Route, str]:
        if made.plain:
            # Aggregates in Python have no plain form on a stream; by hash they are as good.
            return Route.of(KeyGrouping(made.workers)), f"{why} (keys are level)"
        if made.route.draw == "position":
            # Spark does not number the rows of a stream; a task can, where all that they have is
            # their key.
            lowering: Lowering = "online" if self._rows_are_keys else made.lowering
            return self._checked(Route.of(made.partitioner, lowering)), why
        return self._checked(made.route), why

    @property
    def _rows_are_keys(self) -> bool:
        return set(self.request.rows.columns) <= set(self.request.key.column_names)

    def _checked(self, route: Route) -> Route:
        if route.order_matters:
            check_stream_order(self.request.rows, route.partitioner.scheme)
        return route

    def _logged(self, route: Route, why: str) -> Decision:
        decision = Decision(self.request.key, route, why)
        _log.info("stream by %s: %s", ", ".join(self.request.key.names), decision)
        return decision


def _check_history(history: DataFrame | None, scheme: Scheme, settings: Mapping[str, Any]) -> None:
    if history is None:
        if settings and scheme in MEASURED:
            raise ParameterError(
                f"{', '.join(settings)} belong to a plan, and a stream has none without "
                "history=, rows whose keys are like those to come"
            )
        return
    if scheme not in MEASURED:
        raise ParameterError(
            "history is for schemes that are made from frequencies: "
            f"{', '.join(MEASURED)}; the scheme given needs none"
        )
    if history.isStreaming:
        raise ParameterError("history must be a batch of rows; read it with spark.read")
