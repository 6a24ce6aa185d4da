"""The settings of a stateful stream, checked, and the schemas of its rows, state and results."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql.types import (
    BinaryType,
    ByteType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from unskew._spark.frames.keys import KeyColumns
from unskew._spark.frames.schemas import struct_of
from unskew._spark.stateful.processor import Form, Processor
from unskew.errors import KeyTypeError, ParameterError, UnknownNameError

if TYPE_CHECKING:
    # Python workers import this module; planners and their kernels would take them seconds.
    from unskew._spark.stateful.controller import Controller, Cost
    from unskew.rebalancing import Rebalancer

Duration = str | datetime.timedelta

STATE, OUTPUT, REPORT = 0, 1, 2
"""The kinds of rows that a slot returns."""


@dataclass(frozen=True, slots=True)
class StateSchema:
    """The key columns, and the types of rows, state and output."""

    key: tuple[str, ...]
    rows: StructType
    state: StructType
    output: StructType
    event_time: str | None = None

    @classmethod
    def of(
        cls,
        stream: DataFrame,
        key: str | Sequence[str],
        state: StructType | str,
        output: StructType | str,
        event_time: str | None,
    ) -> StateSchema:
        """Check columns and types against those of the stream."""
        names = list(KeyColumns.of(stream, key).names)
        exact = {name.lower(): name for name in stream.columns}
        names = [name if name in stream.columns else exact[name.lower()] for name in names]
        for name in names:
            _check_binary(name, stream.schema[name].dataType)
        if event_time is not None:
            _check_event_time(stream.schema, event_time)
        kept, given = struct_of(state, "state_schema"), struct_of(output, "schema")
        return cls(tuple(names), stream.schema, kept, given, event_time)

    @property
    def key_type(self) -> StructType:
        """The key's columns; in a struct of its own a null key is a value like any other."""
        return StructType([StructField(name, self.rows[name].dataType) for name in self.key])

    @property
    def layer(self) -> StructType:
        """One version of a key's state; a null `state` is a tombstone."""
        return StructType(
            [
                StructField("hash", LongType()),
                StructField("key", self.key_type),
                StructField("version", LongType()),
                StructField("due", LongType()),
                StructField("bytes", LongType()),
                StructField("state", self.state),
            ]
        )

    @property
    def results(self) -> StructType:
        """What a slot returns: new versions of state, output and a report in one frame."""
        return StructType(
            [
                StructField("slot", IntegerType(), nullable=False),
                StructField("kind", ByteType()),
                *self.layer.fields,
                StructField("output", self.output),
                StructField("report", BinaryType()),
            ]
        )


def _check_binary(name: str, kind: DataType) -> None:
    if isinstance(kind, StringType) and getattr(kind, "collation", "UTF8_BINARY") != "UTF8_BINARY":
        raise KeyTypeError(
            f"column {name!r} is {kind.simpleString()}: stateful compares keys byte by byte; "
            f"use lower({name}) as the key"
        )


def _check_event_time(schema: StructType, name: str) -> None:
    if name not in schema.names:
        raise UnknownNameError("column", name, schema.names)
    kind = schema[name].dataType
    if not isinstance(kind, TimestampType):
        raise ParameterError(
            f"event_time={name!r} is {kind.simpleString()}, not timestamp; cast it in the stream"
        )


@dataclass(frozen=True, slots=True)
class StatefulConfig:
    """A processor, its columns, and how it is balanced."""

    processor: Processor
    schema: StateSchema
    form: Form
    workers: int
    planner: Rebalancer | None
    theta: float
    interval: int
    window: int
    cost: Cost
    payback: int | None
    delay: int
    """Delay of the watermark behind the latest event, in microseconds."""
    timeout: int | None
    merge_after: int
    """Layers over the base after which they are compacted."""

    def controller(self) -> Controller:
        """A controller with an empty memory."""
        from unskew._spark.stateful.controller import Controller

        return Controller(
            self.planner, self.theta, self.interval, self.window, self.cost, self.payback
        )


def micros(name: str, value: Duration) -> int:
    """A duration in microseconds, from text as Spark takes it or from a timedelta.

    >>> micros("timeout", "10 minutes")
    600000000
    """
    try:
        length = pd.Timedelta(value)
    except ValueError as error:
        raise ParameterError(f"{name}={value!r} is not a duration such as '10 minutes'") from error
    if length < pd.Timedelta(0):
        raise ParameterError(f"{name}={value!r} must not be negative")
    return int(length.total_seconds() * 1_000_000)
