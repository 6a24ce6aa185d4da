"""The columns of a stateful stream: its rows, its state, its results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
from unskew.errors import KeyTypeError, ParameterError, UnknownNameError

STATE, OUTPUT, REPORT = 0, 1, 2
"""The kinds of rows that a slot hands back."""


@dataclass(frozen=True, slots=True)
class StateShape:
    """Which columns are the key, and the types of everything that is kept or handed out."""

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
    ) -> StateShape:
        """Check columns and types against the stream's."""
        names = list(KeyColumns.of(stream, key).names)
        exact = {name.lower(): name for name in stream.columns}
        names = [name if name in stream.columns else exact[name.lower()] for name in names]
        for name in names:
            _check_binary(name, stream.schema[name].dataType)
        if event_time is not None:
            _check_event_time(stream.schema, event_time)
        return cls(
            tuple(names), stream.schema, _struct(stream, state), _struct(stream, output), event_time
        )

    @property
    def key_type(self) -> StructType:
        """The key's columns; in a struct of its own a null key is a value like any other."""
        return StructType([StructField(name, self.rows[name].dataType) for name in self.key])

    @property
    def layer(self) -> StructType:
        """A version of a key's state; `state` null says that it was forgotten."""
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
        """What a slot hands back: new versions, output and a report in one frame."""
        return StructType(
            [
                StructField("slot", IntegerType(), nullable=False),
                StructField("kind", ByteType()),
                *self.layer.fields,
                StructField("output", self.output),
                StructField("report", BinaryType()),
            ]
        )


def _struct(stream: DataFrame, schema: StructType | str) -> StructType:
    if isinstance(schema, str):
        schema = stream.sparkSession.createDataFrame([], schema).schema
    if not len(schema):
        raise ParameterError("a schema without columns holds nothing; name at least one column")
    return schema


def _check_binary(name: str, kind: DataType) -> None:
    if isinstance(kind, StringType) and getattr(kind, "collation", "UTF8_BINARY") != "UTF8_BINARY":
        raise KeyTypeError(
            f"column {name!r} is {kind.simpleString()}: state is kept by the bytes of the key; "
            f"take lower({name}) as the key"
        )


def _check_event_time(schema: StructType, name: str) -> None:
    if name not in schema.names:
        raise UnknownNameError("column", name, schema.names)
    kind = schema[name].dataType
    if not isinstance(kind, TimestampType):
        raise ParameterError(
            f"event_time={name!r} is {kind.simpleString()}, not timestamp; cast it in the stream"
        )
