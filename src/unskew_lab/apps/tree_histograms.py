"""Histograms of the rows at each leaf, by feature and class: made on workers, and merged."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import TaskContext
from pyspark.sql import DataFrame

from unskew.sketches.streaming_histogram import StreamingHistogram
from unskew_lab.apps.contract import Scheme
from unskew_lab.apps.placement import by_key
from unskew_lab.apps.tree_growing import Floats, Tree, Where

BINS = 64
MESSAGE = "leaf int, label string, feature int, value double"
HISTOGRAM = (
    "worker int, leaf int, feature int, label string, points array<double>, masses array<double>"
)
Batches = Iterable[pa.RecordBatch]
OfBatches = Callable[[Batches], Iterator[pa.RecordBatch]]


class Gathered(NamedTuple):
    """The histograms of all workers, merged, and what each worker did."""

    histograms: dict[Where, StreamingHistogram]
    loads: NDArray[np.float64]
    """Messages, by worker."""
    made: int
    """Histograms before they were merged."""


def gathered(sent: DataFrame, scheme: Scheme, workers: int, bins: int) -> Gathered:
    """Spread messages by their feature and merge the histograms that the workers make."""
    placed = by_key(sent, "feature", scheme, workers)
    found: dict[Where, list[StreamingHistogram]] = {}
    loads = np.zeros(workers)
    for row in placed.mapInArrow(histograms(bins), HISTOGRAM).collect():
        masses = np.array(row["masses"])
        histogram = StreamingHistogram.of(np.array(row["points"]), masses, bins)
        found.setdefault((row["leaf"], row["feature"], row["label"]), []).append(histogram)
        loads[row["worker"]] += masses.sum()
    merged = {
        where: reduce(StreamingHistogram.merge, parts[1:], parts[0])
        for where, parts in found.items()
    }
    return Gathered(merged, loads, sum(map(len, found.values())))


def messages(rows: DataFrame, tree: Tree, level: int = 0) -> DataFrame:
    """One message for each feature of every row at a leaf of `level` or below that may split."""

    def sent(batches: Batches) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            values = matrix(batch.column("features"))
            leaves = tree.leaves(values)
            open_ = np.flatnonzero(tree.may_split(leaves, level))
            features = values.shape[1]
            labels = batch.column("label").take(pa.array(np.repeat(open_, features)))
            yield pa.record_batch(
                {
                    "leaf": np.repeat(leaves[open_], features).astype(np.int32),
                    "label": labels,
                    "feature": np.tile(np.arange(features, dtype=np.int32), open_.size),
                    "value": values[open_].ravel(),
                }
            )

    return rows.mapInArrow(sent, MESSAGE)


def histograms(bins: int) -> OfBatches:
    """A function from a worker's messages to its histograms."""

    def made(batches: Batches) -> Iterator[pa.RecordBatch]:
        kept: dict[Where, StreamingHistogram] = {}
        for batch in batches:
            grouped = pa.Table.from_batches([batch]).group_by(["leaf", "feature", "label"])
            for row in grouped.aggregate([("value", "list")]).to_pylist():
                where = (row["leaf"], row["feature"], row["label"])
                histogram = kept.setdefault(where, StreamingHistogram(bins))
                histogram.add(np.array(row["value_list"], dtype=np.float64))
        yield _as_batch(kept)

    return made


def _as_batch(kept: dict[Where, StreamingHistogram]) -> pa.RecordBatch:
    context = TaskContext.get()
    worker = context.partitionId() if context else 0
    return pa.record_batch(
        {
            "worker": pa.array([worker] * len(kept), pa.int32()),
            "leaf": pa.array([leaf for leaf, _, _ in kept], pa.int32()),
            "feature": pa.array([feature for _, feature, _ in kept], pa.int32()),
            "label": pa.array([label for _, _, label in kept], pa.string()),
            "points": pa.array([h.points.tolist() for h in kept.values()], _NUMBERS),
            "masses": pa.array([h.masses.tolist() for h in kept.values()], _NUMBERS),
        }
    )


_NUMBERS = pa.list_(pa.float64())


def matrix(features: pa.ListArray) -> Floats:
    """The features of rows, one row of the matrix each."""
    found: Floats = np.array(features.to_pylist(), dtype=np.float64)
    return found if len(features) else np.empty((0, 1))


def values_and_labels(rows: pa.Table) -> tuple[Floats, NDArray[np.str_]]:
    """The features of a table as a matrix, and its classes."""
    labels = np.array(rows["label"].to_pylist(), dtype=np.str_)
    return matrix(rows["features"].combine_chunks()), labels
