"""The heaviest keys of a stream in bounded memory: a SpaceSaving summary per worker, merged.

    rows ──(key: scheme)──> workers: SpaceSaving, 100 counters each ──> merge: sum by key

A key's count is known up to the errors of the summaries that may have seen it. By shuffle grouping
that is every worker's, by partial key grouping two: with the same memory the bounds are far closer
(paper on partial key grouping, section 4.2). On a stream a worker's summary is keyed state, and the
summary of each micro-batch is merged into it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import unskew
from unskew.hashing import hash_keys
from unskew.partitioners import RoutingTable
from unskew.sketches.space_saving import SpaceSaving
from unskew_lab.apps.contract import Answer, App, Scheme
from unskew_lab.apps.key_summaries import Summary
from unskew_lab.apps.placement import by_key, prepare_scheme
from unskew_lab.apps.replaying import Replay
from unskew_lab.apps.rising_counts import answer_at_end

COUNTERS = 100
CHECKED = 100
SCHEMA = "worker int, key string, estimate bigint, error bigint"
_ARROW = pa.schema(
    {"worker": pa.int32(), "key": pa.string(), "estimate": pa.int64(), "error": pa.int64()}
)


class Hitter(NamedTuple):
    """A key whose true count is in at_least..at_most."""

    key: str | None
    at_least: int
    at_most: int
    workers: int
    """How many summaries hold it."""


class Heaviest(NamedTuple):
    """Keys in descending order of `at_least`; all other keys occur at most `unseen` times."""

    hitters: list[Hitter]
    unseen: int


def summaries(
    rows: DataFrame, scheme: Scheme = "pkg", workers: int = 8, counters: int = COUNTERS
) -> DataFrame:
    """Every worker's counters."""
    placed = by_key(rows.select("key"), "key", scheme, workers)
    return placed.mapInArrow(summarised(counters), SCHEMA)


def summarised(counters: int) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function from a worker's rows to its counters, in bounded memory."""

    def summary(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        sketch = SpaceSaving(counters)
        names: dict[int, str | None] = {}
        for batch in batches:
            hashes = hash_keys(batch.column(0))
            sketch.add(hashes)
            kept = sketch.frequent().keys
            seen, first = np.unique(hashes, return_index=True)
            named = dict(zip(seen.tolist(), first.tolist(), strict=True))
            names = {
                key: batch.column(0)[named[key]].as_py() if key in named else names[key]
                for key in kept.tolist()
            }
        found = sketch.frequent()
        context = TaskContext.get()
        worker = np.full(found.keys.size, context.partitionId() if context else 0, dtype=np.int32)
        items = pa.array([names[key] for key in found.keys.tolist()], pa.string())
        yield pa.record_batch([worker, items, found.counts, found.errors], schema=_ARROW)

    return summary


def merged(parts: Sequence[Any], counters: int, replicas: int) -> Heaviest:
    """One summary from all workers', where no key was on more than `replicas` workers."""
    holding: dict[str | None, dict[int, tuple[int, int]]] = defaultdict(dict)
    estimates: dict[int, list[int]] = defaultdict(list)
    for worker, key, estimate, error in parts:
        holding[key][worker] = (estimate, error)
        estimates[worker].append(estimate)
    # A key without a counter has at most as many rows as the lowest; none, where one is free.
    missed = {each: min(found) for each, found in estimates.items() if len(found) == counters}
    hitters = []
    for key, found in holding.items():
        others = _highest((low for each, low in missed.items() if each not in found), replicas)
        at_least = sum(estimate - error for estimate, error in found.values())
        at_most = sum(estimate for estimate, _ in found.values())
        at_most += sum(others[: max(replicas - len(found), 0)])
        hitters.append(Hitter(key, at_least, at_most, len(found)))
    hitters.sort(key=lambda each: (-each.at_least, -each.at_most, str(each.key)))
    return Heaviest(hitters, sum(_highest(missed.values(), replicas)))


def _highest(numbers: Iterable[int], count: int) -> list[int]:
    return sorted(numbers, reverse=True)[:count]


def heavy_hitters(rows: DataFrame, scheme: Scheme, workers: int, counters: int) -> Answer:
    """The heaviest keys with bounds on their counts, and the mean width of the first ten bounds."""
    how, replicas = prepare_scheme(rows, "key", scheme, workers)
    parts = [tuple(row) for row in summaries(rows, how, workers, counters).collect()]
    loads = np.zeros(workers)
    for worker, _, estimate, _ in parts:
        loads[worker] += estimate  # SpaceSaving counts every row in exactly one counter.
    return replace(_found(parts, counters, replicas), loads=loads, replicas=len(parts))


def _found(parts: Sequence[Any], counters: int, replicas: int) -> Answer:
    found = merged(parts, counters, replicas)
    errors = [each.at_most - each.at_least for each in found.hitters[:10]]
    figures = {
        "counters": len(parts),
        "most workers of a key": replicas,
        "mean error of the first 10": float(np.mean(errors)) if errors else 0.0,
        "unlisted keys occur at most": found.unseen,
    }
    return Answer([each._asdict() for each in found.hitters], figures)


def stream_summaries(stream: DataFrame, plan: unskew.Plan, counters: int = COUNTERS) -> DataFrame:
    """Every worker's counters so far, and how many rows it has had.

    A worker is a key of its own, placed where the plan says.
    """
    workers = np.arange(plan.workers, dtype=np.int32)
    places = RoutingTable(plan.workers, hash_keys(pa.array(workers)), workers)
    sent = plan.with_worker(stream.select("key"), "worker")
    grouped = unskew.streaming.groupBy(sent, "worker", scheme=places)
    return grouped.agg(summary=Summary("key", counters), rows=unskew.count())


def _stream(rows: Replay, scheme: Scheme, workers: int) -> Answer:
    plan = (
        scheme
        if isinstance(scheme, unskew.Plan)
        else unskew.plan(rows.rows, "key", workers, need="any-row", scheme=scheme)
    )

    def answer(last: DataFrame) -> Answer:
        each = last.select("worker", F.inline("summary"))
        parts = [tuple(row) for row in each.collect()]
        return _found(parts, COUNTERS, plan.partitioner.max_replicas)

    return answer_at_end(stream_summaries(rows.stream(), plan), rows.scratch(), answer)


def _key_only(rows: DataFrame) -> DataFrame:
    return rows.select(F.col("key").cast("string").alias("key"))


def _random_rows(spark: SparkSession) -> DataFrame:
    from unskew.testing import skewed

    return skewed(spark, rows=200_000, keys=20_000, exponent=1.0)


def _true_counts(rows: DataFrame) -> dict[str | None, int]:
    highest = rows.groupBy("key").count().orderBy(F.desc("count"), "key").limit(CHECKED)
    return {row["key"]: row["count"] for row in highest.collect()}


def within_bounds(answer: Answer, counts: dict[str | None, int]) -> bool:
    """Whether the true counts of the heaviest keys are within the answer's bounds."""
    bounds = {row["key"]: (row["at_least"], row["at_most"]) for row in answer.rows}
    unseen = (0, int(answer.figures["unlisted keys occur at most"]))
    return all(
        low <= count <= high
        for key, count in counts.items()
        for low, high in [bounds.get(key, unseen)]
    )


APP = App(
    name="heavy-hitters",
    key=("key",),
    columns=("key",),
    need=unskew.Need.ANY_ROW,
    schemes=("pkg", "kg", "planned-split", "sg"),
    generate=_random_rows,
    prepare=_key_only,
    run=lambda rows, scheme, workers: heavy_hitters(rows, scheme, workers, COUNTERS),
    stream=_stream,
    reference=_true_counts,
    agrees=within_bounds,
)
