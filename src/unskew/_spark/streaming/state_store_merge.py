"""The merge of partial states of aggregates in Python, in Spark's state store.

Spark's streaming aggregation takes no aggregate in Python, its keyed state does. A state that has
an event time leaves the store, and in append mode gives its result, when Spark's own aggregate
would: when the watermark reaches the end of its window.
"""

from __future__ import annotations

import dataclasses
import pickle
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, get_args

import pandas as pd
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from unskew._spark.engine.aggregate_functions import States
from unskew._spark.frames.key_text import check_texts, texts_of, value_of
from unskew._spark.frames.keys import column
from unskew._spark.frames.prompt_tasks import Prompt
from unskew._spark.frames.schemas import arrow_schema
from unskew._spark.streaming.partials import Folded, Partials
from unskew.aggregates import Aggregate
from unskew.errors import ParameterError, ParameterTypeError

Batches = Iterator[pa.RecordBatch]
OutputMode = Literal["update", "append", "complete"]

DELAY = "spark.watermarkDelayMs"
"""The metadata by which Spark marks event times, and windows of them."""

_STATES = "exact"  # What states hold; those of before were rounded, and are not read.

# Inside the merge there are no user columns: the key is t0, t1, ... as text.
_STATE, _EVENT, _UNTIL = "state", "event", "until"


def state_partials(states: States, name: str, spare: str) -> Partials:
    """Rows to pickled states in the column `name`.

    `spare` is a column to count rows by where no aggregate reads any.
    """

    def fold(groups: Sequence[pa.RecordBatch]) -> Folded:
        made = [pickle.dumps(states.add(states.zero(), rows), protocol=5) for rows in groups]
        return Folded([pa.array(made, pa.binary())], None)

    schema = StructType([StructField(name, BinaryType())])
    return Partials(states.columns or (spare,), fold, schema)


def merged_states(
    parts: DataFrame, key: Sequence[str], name: str, states: States, mode: OutputMode
) -> DataFrame:
    """The key's columns, and the results as a struct in the column `name` of the states."""
    fields = [parts.schema[name] for name in key]
    texts = [text for field in fields for text in texts_of(column(field.name), field.dataType)]
    texted = [f"t{place}" for place in range(len(texts))]
    ends = [field for field in fields if DELAY in field.metadata]
    columns = [text.alias(each) for text, each in zip(texts, texted, strict=True)]
    keyed = parts.select(*columns, *_until(ends), column(name).alias(_STATE))
    function = _merging(states, fingerprint(states.aggregates), bool(ends), mode == "append")
    kept = [StructField(each, StringType()) for each in texted]
    merged = keyed.groupBy(*texted).applyInPandasWithState(
        function,
        StructType([*kept, StructField(_STATE, BinaryType())]),
        f"{_STATE} binary, form bigint",
        mode,
        GroupStateTimeout.EventTimeTimeout if ends else GroupStateTimeout.NoTimeout,
    )
    results = StructType([*kept, StructField(_STATE, states.results)])
    # Not a function of the column: the rows that come out of keyed state are not in the form that
    # such functions want.
    finished = merged.mapInArrow(Prompt(_finishing(states, arrow_schema(results))), results)
    found = iter([column(each) for each in texted])
    values = [
        value_of(found, field.dataType).alias(field.name, metadata=field.metadata)
        for field in fields
    ]
    return finished.select(*values, column(_STATE).alias(name))


def check_mode(mode: object) -> None:
    """Raise unless `mode` is an output mode."""
    if not isinstance(mode, str):
        raise ParameterTypeError("mode", mode, f"one of {', '.join(get_args(OutputMode))}")
    if mode not in get_args(OutputMode):
        raise ParameterError(f"mode={mode!r} is not one of {', '.join(get_args(OutputMode))}")


def check_keyed_state(mode: OutputMode, key: Sequence[StructField]) -> None:
    """Raise for keys and modes that keyed state does not support, before any query starts."""
    for field in key:
        check_texts(field)
    if mode == "complete":
        raise ParameterError(
            "mode='complete' is for aggregates that Spark has (count, sum, mean, min, max): the "
            "states of aggregates in Python are read only when rows arrive for them. Use "
            "mode='update', or Spark's own sketches as columns"
        )
    if mode == "append" and not any(DELAY in field.metadata for field in key):
        raise ParameterError(
            "mode='append' gives a key's result when no more rows can come, so the key needs an "
            "event time: stream.withWatermark('time', '10 minutes') and a key that has "
            "F.window('time', ...); or use mode='update'"
        )


def fingerprint(aggregates: Sequence[Aggregate]) -> int:
    """A number by which stored states of other aggregates are recognised."""
    return zlib.crc32("; ".join([_STATES, *map(aggregate_text, aggregates)]).encode())


def aggregate_text(each: Aggregate) -> str:
    """An aggregate with its settings and columns, the same in every process."""
    return (
        repr(each) if dataclasses.is_dataclass(each) else f"{type(each).__qualname__}{each.columns}"
    )


def _until(ends: Sequence[StructField]) -> list[Column]:
    """The event time by which Spark drops late rows, and the time until which a state is kept."""
    if not ends:
        return []
    field = ends[0]
    end = (
        column(field.name)["end"] if isinstance(field.dataType, StructType) else column(field.name)
    )
    # Spark drops a state whose time is below the watermark, and a window whose end is not above.
    until = F.floor((F.unix_micros(end) - 1) / 1000)
    # A null is never late and never over.
    until = F.coalesce(until, F.lit(1 << 62))
    return [end.alias(_EVENT, metadata={DELAY: field.metadata[DELAY]}), until.alias(_UNTIL)]


def _merging(states: States, form: int, timed: bool, at_end: bool) -> Callable[..., Any]:
    def merge(
        key: tuple[Any, ...], parts: Iterator[pd.DataFrame], store: GroupState
    ) -> Iterator[pd.DataFrame]:
        if store.hasTimedOut:
            done = store.get[0]
            store.remove()
            if at_end:
                yield _row(key, done)
            return
        merged = _stored(store, states, form)
        until = 0
        for part in parts:
            for other in part[_STATE]:
                merged = states.merge(merged, pickle.loads(other))
            until = int(part[_UNTIL].iloc[0]) if timed else 0
        made = pickle.dumps(merged, protocol=5)
        # Rows that came in time for a window that ends with this batch: it will not be seen again.
        over = timed and until < store.getCurrentWatermarkMs()
        if over:
            if store.exists:
                store.remove()
        else:
            store.update((made, form))
            if timed:
                store.setTimeoutTimestamp(max(until, 1))
        if over or not at_end:
            yield _row(key, made)

    return merge


def _stored(store: GroupState, states: States, form: int) -> list[Any]:
    if not store.exists:
        return states.zero()
    made, found = store.get
    if found != form:
        raise ParameterError(
            "the checkpoint holds the states of other aggregates than those of the query; use a "
            "new checkpoint, or the same aggregates and settings as before"
        )
    kept: list[Any] = pickle.loads(made)
    return kept


def _row(key: tuple[Any, ...], state: bytes) -> pd.DataFrame:
    # Columns of objects: pandas would turn a lone None into NaN.
    columns = {f"t{place}": pd.Series([text], dtype=object) for place, text in enumerate(key)}
    return pd.DataFrame({**columns, _STATE: pd.Series([state], dtype=object)})


def _finishing(states: States, schema: pa.Schema) -> Callable[[Batches], Batches]:
    def finish(batches: Batches) -> Batches:
        for batch in batches:
            *texts, made = batch.columns
            results = [states.result(pickle.loads(each)) for each in made.to_pylist()]
            done = pa.array(results, schema.field(_STATE).type)
            yield pa.RecordBatch.from_arrays([*texts, done], schema=schema)

    return finish
