"""Enrich each row with what is known of its entity, at a cost that depends on the entity.

    rows ──(posg: expected cost of the entity)──> workers: look up, 25, 5 or 1 ms ──> rows

Few entities are politicians (25 ms), some are media (5 ms), most are others (1 ms), as in the paper
on proactive shuffle grouping, section V-C. The cost is emulated by sleeping. Rows are independent,
so any worker may take any row; level is what each has to do, not how many rows it has.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import unskew
from unskew.errors import ParameterError
from unskew_lab.apps.contract import Answer, App, Scheme
from unskew_lab.apps.placement import by_key

SCHEMA = "entity string, kind string, cost int, task int"
COSTS = {"politician": 25, "media": 5, "other": 1}
"""Milliseconds."""


def kind_of(entity: str | None) -> str:
    """What an entity is: one in 20 a politician, one in five media."""
    drawn = zlib.crc32((entity or "").encode()) % 20
    return "politician" if drawn == 0 else "media" if drawn <= 4 else "other"


def look_up(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Every row's entity with its kind, its cost and the task that looked it up."""
    context = TaskContext.get()
    task = context.partitionId() if context else 0
    for batch in batches:
        kinds = [kind_of(entity) for entity in batch.column("entity").to_pylist()]
        costs = [COSTS[kind] for kind in kinds]
        time.sleep(sum(costs) / 1000)
        yield pa.record_batch(
            {
                "entity": batch.column("entity"),
                "kind": pa.array(kinds, pa.string()),
                "cost": pa.array(costs, pa.int32()),
                "task": pa.array([task] * len(kinds), pa.int32()),
            }
        )


def enriched(rows: DataFrame, scheme: Scheme = "posg", workers: int = 8) -> DataFrame:
    """The rows with their `kind`; `task` and `cost` are for measuring."""
    if scheme == "posg":
        mapped = unskew.mapInArrow(rows, look_up, SCHEMA, cost_key="entity", workers=workers)
        if not isinstance(mapped, DataFrame):
            raise ParameterError("enrich takes a batch; for streams see unskew.mapInArrow")
        return mapped
    return by_key(rows, "entity", scheme, workers).mapInArrow(look_up, SCHEMA)


def _answer(result: DataFrame, workers: int) -> Answer:
    # The first rows and the others are two sets of tasks, each numbered by worker.
    worker = F.pmod("task", F.lit(workers)).alias("worker")
    found = result.groupBy(worker, "entity", "kind").agg(
        F.count("*").alias("rows"), F.sum("cost").alias("cost")
    )
    kinds = {kind: {"kind": kind, "cost in ms": cost, "rows": 0} for kind, cost in COSTS.items()}
    loads, pairs, mark = np.zeros(workers), set(), 0
    for row in found.collect():
        kinds[row["kind"]]["rows"] += row["rows"]
        loads[row["worker"]] += row["cost"]
        pairs.add((row["worker"], row["entity"]))
        mark += row["rows"] * zlib.crc32(f"{row['entity']} {row['kind']}".encode())
    return Answer(list(kinds.values()), {"checksum": mark}, loads, len(pairs))


def _reference(rows: DataFrame) -> Answer:
    return _answer(rows.mapInArrow(look_up, SCHEMA), workers=1)


def _random_rows(spark: SparkSession) -> DataFrame:
    from unskew.testing import skewed

    rows = skewed(spark, rows=2_000, keys=300, exponent=0.8)
    return rows.withColumnRenamed("key", "entity")


APP = App(
    name="enrich",
    key=("entity",),
    columns=("entity",),
    need=unskew.Need.ANY_ROW,
    schemes=("posg", "sg", "kg"),
    generate=_random_rows,
    sleeps=True,
    prepare=lambda rows: rows.select(F.col("entity").cast("string").alias("entity")),
    run=lambda rows, scheme, workers: _answer(enriched(rows, scheme, workers), workers),
    reference=_reference,
    agrees=lambda answer, plain: (answer.rows, answer.figures) == (plain.rows, plain.figures),
)
