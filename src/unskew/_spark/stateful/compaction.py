"""Fewer layers, once there are many: reading state must not get slower from batch to batch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pyspark.sql import DataFrame

from unskew._spark.stateful.batch_job import watched, write
from unskew._spark.stateful.files import Files
from unskew._spark.stateful.layers import Layer, PlacedState

OUTWEIGHED = 4
"""The base is written again when the layers over it have this part of its rows."""


def merge(
    state: PlacedState, files: Files, batch: int, most: int
) -> tuple[PlacedState, list[DataFrame]]:
    """`state` with at most `most` files over the base; and frames to free after the commit.

    The layers over the base become one. They are folded into the base only if they have a quarter
    of its rows, so that a merge costs what was touched of late and not what exists.
    """
    over = state.files[1:]
    if len(over) <= most:
        return state, []
    recent = state.merged_recent().localCheckpoint(eager=False)
    replaced = [layer.held for layer in state.recent]
    if sum(file.rows for file in over) * OUTWEIGHED < state.files[0].rows:
        file = write(*watched(recent), files, batch)
        layer = Layer(recent, recent)
        return replace(state, recent=(layer,), files=(state.files[0], file)), replaced
    whole = state.merged_whole(recent).localCheckpoint(eager=False)
    file = write(*watched(whole), files, batch)
    base = Layer(whole, whole)
    nobody = np.empty(0, dtype=np.uint64)
    merged = replace(state, base=base, recent=(), files=(file,), movers=nobody)
    return merged, [*replaced, state.base.held, recent]
