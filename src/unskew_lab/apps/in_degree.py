"""In-degrees of a graph from a stream of edges: a mergeable count by target vertex.

    edges by source vertex ──> sources ──(target: scheme)──> workers: count ──> merge by target

Sources are fed by the source vertex, as in the paper on partial key grouping (its third question):
the sources' loads are skewed too, and the workers' must be level all the same.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import unskew
from unskew.workloads import ZipfStream
from unskew_lab.apps.aggregation_periods import answer_by_periods
from unskew_lab.apps.contract import Answer, App, Scheme
from unskew_lab.apps.ranking import ranked, same
from unskew_lab.apps.replaying import Replay
from unskew_lab.apps.rising_counts import answer_at_end

SOURCES = 5


def in_degrees(edges: DataFrame, scheme: Scheme = "auto", workers: int = 8) -> DataFrame:
    """Each `target` with its number of edges, `degree`; on a stream, the number so far."""
    group = unskew.streaming.groupBy if edges.isStreaming else unskew.groupBy
    return group(edges, "target", workers=workers, scheme=scheme).agg(degree=unskew.count())


def fed_by_source(edges: DataFrame) -> DataFrame:
    """The edges of one source vertex in one task."""
    return edges.select("source", "target").repartition(SOURCES, "source")


def random_edges(spark: SparkSession) -> DataFrame:
    """100,000 edges between 10,000 vertices; few vertices have most edges, out and in."""
    source, target = (
        np.concatenate(list(ZipfStream(exponent, 10_000, 100_000, seed).ids()))
        for exponent, seed in ((0.8, 1), (1.0, 2))
    )
    # The busiest sources should not be the most popular targets.
    return spark.createDataFrame(pa.table({"source": 9_999 - source, "target": target}))


def _ranked(degrees: DataFrame) -> Answer:
    return ranked(degrees, "target", count="degree")


def _stream(edges: Replay, scheme: Scheme, workers: int) -> Answer:
    fed = fed_by_source(edges.stream())
    if edges.period:
        return answer_by_periods(
            edges,
            fed,
            "target",
            scheme,
            workers,
            lambda totals: _ranked(totals.withColumnRenamed("n", "degree")),
        )
    return answer_at_end(in_degrees(fed, scheme, workers), edges.scratch(), _ranked)


def _plain_degrees(edges: DataFrame) -> DataFrame:
    return edges.groupBy("target").agg(F.count(F.lit(1)).alias("degree"))


APP = App(
    name="in-degree",
    key=("target",),
    columns=("source", "target"),
    need=unskew.Need.MERGEABLE,
    schemes=("planned-split", "pkg", "kg"),
    generate=random_edges,
    prepare=fed_by_source,
    run=lambda edges, scheme, workers: _ranked(in_degrees(edges, scheme, workers)),
    stream=_stream,
    reference=lambda edges: _ranked(_plain_degrees(edges)),
    agrees=same,
    periods=True,
)
