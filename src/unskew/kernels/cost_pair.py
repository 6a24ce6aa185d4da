"""Twin count-min matrices: how often a key came, and what it cost in all.

Each row of the matrices has a hash function of its own out of a strongly universal family: both
halves of the key's hash times a random word each, plus a third word. The upper half of the sum is
scaled to the columns.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew.kernels import KeyHashes, Loads, compiled
from unskew.kernels.mixing import below

Floats = NDArray[np.float64]

_32 = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


class Pair(NamedTuple):
    """The matrices, both of rows x columns, and the three words of every row's hash function."""

    counts: Loads
    costs: Floats
    words: KeyHashes


@compiled
def cell(key: np.uint64, row: int, words: KeyHashes, columns: int) -> np.int64:
    """The column of `key` in a row."""
    mixed = words[row, 0] * (key & _LOW) + words[row, 1] * (key >> _32) + words[row, 2]
    return np.int64(below(mixed, np.uint64(columns)))


@compiled
def add_one(key: np.uint64, cost: float, counts: Loads, costs: Floats, words: KeyHashes) -> None:
    """Count a row and what it cost."""
    for row in range(counts.shape[0]):
        column = cell(key, row, words, counts.shape[1])
        counts[row, column] += 1
        costs[row, column] += cost


@compiled
def add_all(keys: KeyHashes, spent: Floats, pair: Pair) -> None:
    """Count many rows and what each cost."""
    for i in range(keys.size):
        add_one(keys[i], spent[i], pair.counts, pair.costs, pair.words)


@compiled
def cost_of(key: np.uint64, counts: Loads, costs: Floats, words: KeyHashes, unseen: float) -> float:
    """The mean cost in the key's cell with the fewest rows; `unseen` if that cell is empty."""
    fewest = np.int64(-1)
    spent = 0.0
    for row in range(counts.shape[0]):
        column = cell(key, row, words, counts.shape[1])
        if fewest < 0 or counts[row, column] < fewest:
            fewest = counts[row, column]
            spent = costs[row, column]
    return spent / fewest if fewest > 0 else unseen


@compiled
def cost_of_all(keys: KeyHashes, pair: Pair, unseen: float, out: Floats) -> None:
    """The estimated cost of every key."""
    for i in range(keys.size):
        out[i] = cost_of(keys[i], pair.counts, pair.costs, pair.words, unseen)


@compiled
def mean_cost(counts: Loads, costs: Floats) -> float:
    """The mean over all rows that were counted: every matrix row holds each of them once."""
    rows = counts[0].sum()
    return costs[0].sum() / rows if rows > 0 else 0.0


@compiled
def ratio(counts: Loads, costs: Floats, row: int, column: int) -> float:
    """The mean cost in a cell; an empty one counts as 0."""
    count = counts[row, column]
    return costs[row, column] / count if count > 0 else 0.0


@compiled
def take_snapshot(counts: Loads, costs: Floats, snapshot: Floats) -> None:
    """Write down the mean cost in every cell."""
    for row in range(counts.shape[0]):
        for column in range(counts.shape[1]):
            snapshot[row, column] = ratio(counts, costs, row, column)


@compiled
def relative_error(counts: Loads, costs: Floats, snapshot: Floats) -> float:
    """How far the cells have moved since the snapshot, as a share of its sum, over *all* cells.

    A cell that was empty then has no mean to have moved from; the paper divides 0 by 0 there.
    """
    moved = 0.0
    total = 0.0
    for row in range(counts.shape[0]):
        for column in range(counts.shape[1]):
            if snapshot[row, column] == 0.0:
                continue
            moved += abs(snapshot[row, column] - ratio(counts, costs, row, column))
            total += snapshot[row, column]
    if total == 0.0:
        return 0.0 if moved == 0.0 else np.inf
    return moved / total
