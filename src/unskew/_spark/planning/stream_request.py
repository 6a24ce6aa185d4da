"""Which way the rows of a stream go. The plan of a query is fixed when it starts, so either the
router learns on line, in every task of every micro-batch, or its table is there beforehand."""

from __future__ import annotations

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame

from unskew._spark.frames.physical_plan import CHECKSUMS, checksums_are_on, physical_plan
from unskew._spark.planning.plan import Plan, default_workers, plan
from unskew._spark.planning.request import MEASURED, Route, Wish
from unskew._spark.routing.worker_column import Draw, Lowering, lowered, order_matters
from unskew.errors import ParameterError, RetryError
from unskew.partitioners import KeyGrouping, Need, Partitioner
from unskew.partitioners.serialization import build

_log = logging.getLogger("unskew")

LEARNING = "w-choices"
"""What "auto" takes where nothing is known of the keys: level from the first hundred rows of a
task on, with fewer replicas than PoRC on batches of any size. Two choices are not enough for a key
with more than 2 / workers of the rows."""

_SHUFFLED = re.compile(r"\b(\w*Exchange|Coalesce|Sample|\w*Union)\b")


@dataclass(frozen=True, slots=True)
class Decision:
    """The way of the rows, and why in one sentence."""

    route: Route | None
    """None: Spark does the whole aggregation."""
    why: str

    def __str__(self) -> str:
        if self.route is None:
            return f"plain Spark: {self.why}"
        scheme = self.route.partitioner.scheme
        return f"{scheme} on {self.route.workers} workers: {self.why}"


@dataclass(frozen=True, slots=True)
class StreamWish:
    """What the user asks of a stream's verb."""

    workers: int | None
    scheme: str | Plan
    history: DataFrame | None
    settings: Mapping[str, Any]

    def check(self) -> None:
        """Refuse what cannot be, before any job runs."""
        Wish(self.workers, self.scheme, self.settings).check(Need.MERGEABLE)
        if self.history is not None and (
            isinstance(self.scheme, Plan) or self.scheme not in MEASURED
        ):
            raise ParameterError(
                "history is for schemes that are drawn up from frequencies: "
                f"{', '.join(MEASURED)}; the scheme given needs none"
            )
        if self.history is None and self.settings:
            raise ParameterError(
                f"{', '.join(self.settings)} belong to a plan, and a stream has none without "
                "history=, rows whose keys are like those to come"
            )
        if self.history is not None and self.history.isStreaming:
            raise ParameterError("history must be a batch of rows; read it with spark.read")

    def decide(self, stream: DataFrame, key: Sequence[str]) -> Decision:
        """The way of rows whose partial results are made in Python; logged."""
        decision = self._decided(stream, key)
        _log.info("stream by %s: %s", ", ".join(key), decision)
        return decision

    def _decided(self, stream: DataFrame, key: Sequence[str]) -> Decision:
        if isinstance(self.scheme, Plan):
            return _planned(stream, self.scheme, key, "a plan made before")
        if self.history is not None:
            known = [name for name in key if name in self.history.columns]
            made = plan(
                self.history, known, self.workers, scheme=self.scheme, **dict(self.settings)
            )
            return _planned(stream, made, key, f"planned from history; {made.why}")
        if self.scheme in MEASURED and self.scheme != "auto":
            raise ParameterError(
                f"{self.scheme} is drawn up from frequencies, and a stream cannot be read "
                "beforehand: give history=, rows whose keys are like those to come, or a plan "
                f"made of them; {LEARNING} learns as it routes, and replanned plans between batches"
            )
        workers = default_workers(stream) if self.workers is None else self.workers
        asked = self.scheme != "auto"
        partitioner = build(self.scheme if asked else LEARNING, workers)
        why = "asked for" if asked else "nothing is known of the keys, so every task learns them"
        return _routed(stream, tuple(key), partitioner, why)


def left_to_spark(why: str, key: Sequence[str]) -> Decision:
    """No route at all, and the reason in the log."""
    decision = Decision(None, why)
    _log.info("stream by %s: %s", ", ".join(key), decision)
    return decision


def _planned(stream: DataFrame, made: Plan, key: Sequence[str], why: str) -> Decision:
    if not set(made.key) <= set(key):
        raise ParameterError(
            f"the plan is for the key {made.key}, but the stream is by {tuple(key)}"
        )
    if made.plain:
        # Aggregates in Python have no plain form on a stream; by hash they are as good.
        return _routed(stream, made.key, KeyGrouping(made.workers), f"{why} (keys are level)")
    return _routed(stream, made.key, made.partitioner, why, made.lowering, made.draw)


def _routed(
    stream: DataFrame,
    key: tuple[str, ...],
    partitioner: Partitioner,
    why: str,
    lowering: Lowering = "auto",
    draw: Draw = "content",
) -> Decision:
    if draw == "position":
        # Spark numbers no rows of a stream; a task can.
        lowering, draw = "online", "content"
    if lowered(partitioner, lowering) == "online" and order_matters(partitioner):
        _check_order_may_matter(stream, partitioner.scheme)
    return Decision(Route(key, partitioner, lowering, draw), why)


def _check_order_may_matter(stream: DataFrame, scheme: str) -> None:
    if checksums_are_on(stream) or not _SHUFFLED.search(physical_plan(stream)):
        return
    raise RetryError(
        f"{scheme} routes rows in the order in which they come, and this stream comes out of a "
        f"shuffle: a task that runs again would send them elsewhere. Set {CHECKSUMS[0]} and "
        f"{CHECKSUMS[1]} to true, or route right after reading"
    )
