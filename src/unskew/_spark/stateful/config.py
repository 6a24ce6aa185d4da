"""The settings of a stateful stream, checked, and the schemas of its rows, state and results."""

from __future__ import annotations

import datetime
import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.pandas import types
from pyspark.sql.types import (
    DataType,
    StringType,
    StructField,
    StructType,
    TimestampType,
    YearMonthIntervalType,
)

from unskew._spark.frames.keys import KeyColumns, contains
from unskew._spark.frames.schemas import arrow_type, struct_of
from unskew._spark.stateful.processor import Form, Processor
from unskew.errors import KeyTypeError, ParameterError, UnknownNameError

if TYPE_CHECKING:
    # Python workers import this module; planners and their kernels would take them seconds.
    from unskew._spark.stateful.controller import Controller
    from unskew._spark.stateful.intervals import Cost
    from unskew.rebalancing import Rebalancer

Duration = str | datetime.timedelta


@dataclass(frozen=True)
class StateSchema:
    """The key columns, and the types of rows, state and output."""

    key: tuple[str, ...]
    rows: StructType
    state: StructType
    output: StructType
    event_time: str | None = None
    zone: str = "UTC"
    """The session's: in it Spark hands points in time to Python."""

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
            _check_key(name, stream.schema[name].dataType)
        if event_time is not None:
            _check_event_time(stream.schema, event_time)
        kept, given = struct_of(state, "state_schema"), struct_of(output, "schema")
        zone = stream.sparkSession.conf.get("spark.sql.session.timeZone") or "UTC"
        found = cls(tuple(names), stream.schema, kept, given, event_time, zone)
        found.check()
        return found

    def check(self) -> None:
        """Raise if Python cannot be given or give back one of the types."""
        for what, struct in (("stream", self.rows), ("state_schema", self.state)):
            for field in struct:
                try:
                    arrow_type(field.dataType)
                except PySparkException as error:
                    raise ParameterError(
                        f"{what}: column {field.name!r} is {field.dataType.simpleString()}, which "
                        "Spark cannot hand to Python; cast it, or leave it out"
                    ) from error

    @property
    def key_type(self) -> StructType:
        """The key's columns; in a struct of its own a null key is a value like any other."""
        return StructType([StructField(name, self.rows[name].dataType) for name in self.key])

    @cached_property
    def stored(self) -> pa.Schema:
        """The rows of a state file; null `state` is a tombstone."""
        kinds = {
            "hash": pa.int64(),
            "key": arrow_type(self.key_type),
            "due": pa.int64(),
            "state": arrow_type(self.state),
        }
        return pa.schema(list(kinds.items()))

    @cached_property
    def shown_key(self) -> pa.DataType:
        """The key's type with points in time as Python is shown them."""
        return _in_zone(self.key_type, self.zone)

    @cached_property
    def shown_state(self) -> pa.DataType:
        """The state's type with points in time as Python is shown them."""
        return _in_zone(self.state, self.zone)


def _in_zone(kind: StructType, zone: str) -> pa.DataType:
    if "timezone" in inspect.signature(types.to_arrow_type).parameters:
        return types.to_arrow_type(kind, timezone=zone)
    return arrow_type(kind)


def _check_key(name: str, kind: DataType) -> None:
    if isinstance(kind, StringType) and getattr(kind, "collation", "UTF8_BINARY") != "UTF8_BINARY":
        raise KeyTypeError(
            f"column {name!r} is {kind.simpleString()}: stateful compares keys byte by byte; "
            f"use lower({name}) as the key"
        )
    if contains(kind, YearMonthIntervalType):
        raise KeyTypeError(
            f"column {name!r} is {kind.simpleString()}: Python has no such value; use "
            f"cast({name} as int), the months, as the key"
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
    """Batches after which a worker compacts its logs."""

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
