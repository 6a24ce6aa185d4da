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
    """Apply `answer` to the final count of every key; the last column has the count."""
    spark, name = counts.sparkSession, f"counts_{uuid.uuid4().hex}"
    *key, count = counts.columns
    writer = counts.writeStream.outputMode("update").option("checkpointLocation", checkpoint)
    query = writer.format("memory").queryName(name).trigger(availableNow=True).start()
    query.awaitTermination()
    # The sink has a row for every change of a count.
    last = spark.table(name).groupBy(*key).agg(F.max(count).alias(count))
    found = answer(last)
    spark.catalog.dropTempView(name)
    return replace(found, batches=batches(query))
