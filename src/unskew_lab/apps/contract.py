"""The contract of an app, by which `unskew run` and the tests run all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession

import unskew
from unskew.partitioners import Partitioner
from unskew.streaming import BatchProgress
from unskew_lab.apps.replaying import Replay

Scheme: TypeAlias = str | Partitioner | unskew.Plan
Figure: TypeAlias = int | float | str | bool


@dataclass(frozen=True)
class Answer:
    """The result of an app: its first rows, and figures about it."""

    rows: list[dict[str, Any]]
    figures: Mapping[str, Figure] = field(default_factory=dict)
    loads: NDArray[np.float64] | None = None
    """What each worker was given, where the app saw it while it ran."""
    replicas: int | None = None
    """How many partial states there were, where the app saw them."""
    batches: Sequence[BatchProgress] = ()
    """The progress of each micro-batch, where the app ran on a stream that reports it."""


@dataclass(frozen=True)
class App:
    """One program: its input, its job and its reference result."""

    name: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    """What the input must have."""
    need: unskew.Need
    schemes: tuple[str, ...]
    """What `--compare` compares; the first is taken if none is named."""
    generate: Callable[[SparkSession], DataFrame]
    """An input for those who bring none."""
    prepare: Callable[[DataFrame], DataFrame]
    """From the input to what the app works on, with the key unless `routed` makes it."""
    reference: Callable[[DataFrame], Any]
    """What plain Spark (or plain Python) makes of the prepared rows."""
    agrees: Callable[[Answer, Any], bool]
    """Whether an answer is what the reference says it must be."""
    run: Callable[[DataFrame, Scheme, int], Answer] | None = None
    """On prepared rows, by a scheme, on so many workers."""
    stream: Callable[[Replay, Any, int], Answer] | None = None
    """The same on a stream of prepared rows; with keyed state the scheme is a planner."""
    batches: int = 0
    """Into how many micro-batches rows are cut unless the user says; 0 for apps that `run`."""
    sleeps: bool = False
    """Whether its work is emulated, so that workers need no cores of their own."""
    stream_reference: Callable[[Replay], Any] | None = None
    """What one place makes of the same micro-batches, where a table is another matter."""
    order: str | None = None
    """The column by which rows come, if they are a stream."""
    optional: tuple[str, ...] = ()
    """What the input may have besides."""
    names: tuple[str, ...] = ()
    """The schemes that are no partitioners."""
    stream_schemes: tuple[str, ...] = ()
    """What it compares on a stream, if others."""
    by_routes: bool = True
    """Whether the partitioners that keep the need may run it."""
    keeps_state: bool = False
    """Whether its stream keeps state by key, and can emulate work for each row."""
    periods: bool = False
    """Whether its stream can have an aggregation period of several micro-batches."""
    read: Callable[[SparkSession, Path], DataFrame] | None = None
    """The input from a path, where it is not one table."""
    routed: Callable[[DataFrame], DataFrame] = lambda prepared: prepared
    """From prepared rows to those that the scheme spreads, where they are others."""
