"""The Spark jobs of one micro-batch: rows meet the state of their keys; layers are compacted."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace

import numpy as np
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from unskew._spark.frames.files import Files
from unskew._spark.frames.keys import KeyColumns
from unskew._spark.routing.slots import place_by_slot
from unskew._spark.stateful.commits import LayerFile
from unskew._spark.stateful.config import OUTPUT, STATE
from unskew._spark.stateful.layers import COLUMNS, Layer, PlacedState
from unskew._spark.stateful.reports import SlotReport
from unskew._spark.stateful.slot_step import SlotStep

OUTWEIGHED = 4
"""The base is rewritten when the layers over it have one row for this many of its rows."""


@dataclass(frozen=True, slots=True, eq=False)
class Processed:
    """The results of a batch: a new layer, output, and the slots' reports."""

    state: PlacedState
    output: DataFrame
    reports: list[SlotReport]
    rows: DataFrame
    """The batch's rows; not needed after the commit."""


def process(batch: DataFrame, state: PlacedState, step: SlotStep, files: Files) -> Processed:
    """Run the processor; the executors keep its results, a file the new versions of state."""
    rows = _routed(batch, state, step.schema.key)
    touched = state.touched(rows, step.now if step.timeout is not None else None)
    # State first: Spark asks the first side where a task should run. A shuffle would answer with
    # the hosts that hold a fifth of it, and the workers would follow the rows of every batch.
    results = (
        touched.groupBy("slot")
        .cogroup(rows.groupBy("slot"))
        .applyInArrow(step.function(), step.schema.results)
    )
    held = place_by_slot(results, "slot", state.slots.workers).localCheckpoint(eager=False)
    seen = Observation()
    count = F.count_if(F.col("kind") == STATE).alias("rows")
    both = held.observe(seen, count, F.collect_list("report").alias("reports"))
    file = write(both.where(F.col("kind") == STATE), seen, files, step.batch)
    layer = Layer(held.where(F.col("kind") == STATE).select(*COLUMNS), held)
    output = held.where(F.col("kind") == OUTPUT).select("output.*")
    reports = [SlotReport.from_bytes(each) for each in seen.get["reports"]]
    return Processed(state.with_layer(layer, file), output, reports, rows)


def watched(layer: DataFrame) -> tuple[DataFrame, Observation]:
    """A layer that is counted while it is written."""
    seen = Observation()
    return layer.observe(seen, F.count(F.lit(1)).alias("rows")), seen


def write(layer: DataFrame, seen: Observation, files: Files, batch: int) -> LayerFile:
    """Write a layer to a folder of this attempt's own."""
    path = f"layers/{batch}-{uuid.uuid4().hex[:12]}"
    # Slots depend on the number of workers: a restart looks them up again.
    layer.select(*COLUMNS[1:]).write.parquet(files.path(path))
    return LayerFile(path, int(seen.get["rows"]))


def _routed(batch: DataFrame, state: PlacedState, key: tuple[str, ...]) -> DataFrame:
    """Each row on its worker; kept, for both the lookup of state and the processor read it."""
    hashed = batch.select(
        KeyColumns.of(batch, list(key)).hash.alias("hash"), F.struct(batch["*"]).alias("row")
    )
    routed = hashed.select(state.home.alias("slot"), "hash", "row")
    return place_by_slot(routed, "slot", state.slots.workers).localCheckpoint(eager=False)


def compact(
    state: PlacedState, files: Files, batch: int, most: int
) -> tuple[PlacedState, list[DataFrame]]:
    """`state` with at most `most` files over the base; and frames to free after the commit.

    The layers over the base become one. They are folded into the base only if they have a quarter
    of its rows, so that a compaction costs what was touched of late and not what exists.
    """
    over = state.files[1:]
    if len(over) <= most:
        return state, []
    recent = state.compacted_recent().localCheckpoint(eager=False)
    replaced = [layer.held for layer in state.recent]
    if sum(file.rows for file in over) * OUTWEIGHED < state.files[0].rows:
        file = write(*watched(recent), files, batch)
        layer = Layer(recent, recent)
        return replace(state, recent=(layer,), files=(state.files[0], file)), replaced
    whole = state.compacted_base(recent).localCheckpoint(eager=False)
    file = write(*watched(whole), files, batch)
    base = Layer(whole, whole)
    nobody = np.empty(0, dtype=np.uint64)
    compacted = replace(state, base=base, recent=(), files=(file,), movers=nobody)
    return compacted, [*replaced, state.base.held, recent]
