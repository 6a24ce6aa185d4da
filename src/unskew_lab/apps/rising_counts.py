"""Runs a stream of counts that never decrease to its end."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from unskew.streaming import batches
from unskew_lab.apps.contract import Answer


def answer_at_end(
    counts: DataFrame, checkpoint: str, answer: Callable[[DataFrame], Answer]
) -> Answer:
    """Apply `answer` to the final row of every key; the last column has the count.

    All columns before it are the key, but for a `summary` that goes with the count.
    """
    spark, name = counts.sparkSession, f"counts_{uuid.uuid4().hex}"
    *before, count = counts.columns
    key = [column for column in before if column != "summary"]
    others = [F.max_by(column, count).alias(column) for column in before if column not in key]
    writer = counts.writeStream.outputMode("update").option("checkpointLocation", checkpoint)
    query = writer.format("memory").queryName(name).trigger(availableNow=True).start()
    query.awaitTermination()
    # The sink has a row for every change of a count.
    last = spark.table(name).groupBy(*key).agg(*others, F.max(count).alias(count))
    found = answer(last)
    spark.catalog.dropTempView(name)
    return replace(found, batches=batches(query))
