"""Enrich each document with what a model says about it, at a cost that grows with its length.

    documents ──(the longest alone and first)──> tasks: 10 µs a character ──> documents, words

A few documents are as long as hundreds of others together. Documents are independent, so any task
may take any of them; what counts is when the last one is done. The cost is emulated by sleeping.
"""

from __future__ import annotations

import heapq
import time
import zlib
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import unskew
from unskew.errors import ParameterError
from unskew_lab.apps.contract import Answer, App, Scheme
from unskew_lab.apps.placement import by_key

SCHEMA = "document string, words int, characters int, task int"
SECONDS = 10e-6
"""For each character."""
BY_COST = "heavy-first"
CLASSES = {"short": 0, "long": 10_000, "very long": 100_000}
"""By the least number of characters."""
_DOCUMENTS = 480


def enrich(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Every document's words and characters, and the task that it was in."""
    context = TaskContext.get()
    task = context.partitionId() if context else 0
    for batch in batches:
        texts = [text or "" for text in batch.column("text").to_pylist()]
        lengths = [len(text) for text in texts]
        time.sleep(SECONDS * sum(lengths))
        yield pa.record_batch(
            {
                "document": batch.column("document"),
                "words": pa.array([len(text.split()) for text in texts], pa.int32()),
                "characters": pa.array(lengths, pa.int32()),
                "task": pa.array([task] * len(texts), pa.int32()),
            }
        )


def enriched(documents: DataFrame, scheme: Scheme = BY_COST, workers: int = 8) -> DataFrame:
    """The documents with their words; `task` and `characters` are for measuring."""
    if scheme == BY_COST:
        mapped = unskew.mapInArrow(
            documents, enrich, SCHEMA, cost=F.length("text"), workers=workers, scheme="heavy-first"
        )
        if not isinstance(mapped, DataFrame):
            raise ParameterError("enrich takes a batch; for streams see unskew.mapInArrow")
        return mapped
    return by_key(documents, "document", scheme, workers).mapInArrow(enrich, SCHEMA)


def _answer(result: DataFrame, workers: int) -> Answer:
    tasks: dict[int, float] = {}
    counts = {name: [0, 0] for name in CLASSES}
    mark = 0
    found = result.collect()
    for row in found:
        length = row["characters"]
        tasks[row["task"]] = tasks.get(row["task"], 0.0) + SECONDS * length
        name = max((each for each in CLASSES if CLASSES[each] <= length), key=CLASSES.__getitem__)
        counts[name] = [counts[name][0] + 1, counts[name][1] + length]
        mark += zlib.crc32(f"{row['document']} {row['words']}".encode())
    rows = [
        {"length": name, "documents": count, "characters": characters}
        for name, (count, characters) in counts.items()
    ]
    return Answer(rows, {"checksum": mark}, _loads(tasks, workers), len(found))


def _loads(tasks: dict[int, float], workers: int) -> NDArray[np.float64]:
    """What each slot did: Spark starts tasks in order, each on the first slot that is free."""
    free = [0.0] * workers
    for task in sorted(tasks):
        heapq.heapreplace(free, free[0] + tasks[task])
    return np.array(free)


def _reference(documents: DataFrame) -> Answer:
    return _answer(documents.mapInArrow(enrich, SCHEMA), workers=1)


def _random_documents(spark: SparkSession) -> DataFrame:
    """Pareto 1.1 in length, from 700 characters to a slot's share of all work, in random order."""
    rank = F.pmod(F.col("id") * 211, F.lit(_DOCUMENTS))
    length = 700 / F.pow((rank + 0.5) / _DOCUMENTS, F.lit(1 / 1.1))
    document = F.concat(F.lit("document "), F.col("id"))
    text = F.repeat(F.lit("word "), (length / 5).cast("int"))
    return spark.range(0, _DOCUMENTS, 1, 8).select(document.alias("document"), text.alias("text"))


APP = App(
    name="enrich",
    key=("document",),
    columns=("document", "text"),
    need=unskew.Need.ANY_ROW,
    schemes=(BY_COST, "sg", "kg"),
    names=(BY_COST, "sg", "kg"),
    by_routes=False,
    generate=_random_documents,
    sleeps=True,
    prepare=lambda rows: rows.select(
        F.col("document").cast("string").alias("document"),
        F.col("text").cast("string").alias("text"),
    ),
    run=lambda rows, scheme, workers: _answer(enriched(rows, scheme, workers), workers),
    reference=_reference,
    agrees=lambda answer, plain: (answer.rows, answer.figures) == (plain.rows, plain.figures),
)
