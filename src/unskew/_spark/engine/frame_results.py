"""Frames that a function returned, converted to Arrow as Spark does.

Spark converts every result by itself. Here results with the same columns and dtypes are converted
together: casts go value by value, so that it changes nothing. Where that fails, each is converted
by itself, so that casts which depend on the whole result, and errors, are Spark's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.types import StructField, StructType

from unskew._spark.engine.calls import Results
from unskew._spark.engine.spark_rules import WorkerSettings, note_cause


class FrameResults:
    """The results of consecutive groups."""

    def __init__(self, schema: StructType, settings: WorkerSettings) -> None:
        self._schema, self._settings = schema, settings
        self._frames: list[Any] = []
        self.rows = 0

    def add(self, frame: Any) -> None:
        """Check the result of the next group as Spark does, and keep it."""
        from pyspark.worker import verify_pandas_result

        verify_pandas_result(
            frame, self._schema, self._settings.by_name, truncate_return_schema=False
        )
        self._frames.append(frame)
        self.rows += len(frame)

    def taken(self) -> Results:
        """All results so far as one table; none are kept."""
        frames, self._frames, self.rows = self._frames, [], 0
        alike: dict[Any, list[int]] = {}
        for place, frame in enumerate(frames):
            alike.setdefault(_shape(frame), []).append(place)
        tables = [self._together([frames[place] for place in each]) for each in alike.values()]
        counts = [len(frame) for frame in frames]
        rows = pa.concat_tables(tables)
        if len(tables) > 1:
            rows = rows.take(pa.array(_in_turn(list(alike.values()), counts)))
        return Results(rows, counts)

    def _together(self, frames: list[pd.DataFrame]) -> pa.Table:
        if len(frames) > 1 and len(frames[0].columns):
            try:
                return self._table(_stacked(frames), cast=False)
            except Exception:  # Whatever it is, one of them will raise it again, or none.
                pass
        try:
            return pa.concat_tables([self._table(frame, cast=True) for frame in frames])
        except PySparkException as error:  # The cause names the value that does not fit.
            note_cause(error)
            raise

    def _table(self, frame: pd.DataFrame, cast: bool) -> pa.Table:
        from pyspark.sql.conversion import PandasToArrowConversion

        settings = self._settings
        batch = PandasToArrowConversion.convert(
            [frame],
            StructType([StructField("_0", self._schema)]),
            timezone=settings.zone,
            safecheck=settings.safe,
            arrow_cast=cast,
            prefers_large_types=settings.large_types,
            assign_cols_by_name=settings.by_name,
            int_to_decimal_coercion_enabled=settings.int_to_decimal,
        )
        return pa.Table.from_arrays(batch.column(0).flatten(), names=self._schema.names)


def _shape(frame: pd.DataFrame) -> Any:
    """Equal for frames with the same columns and dtypes."""
    return tuple(frame.columns), tuple(values.dtype for values in _arrays(frame))


def _stacked(frames: list[pd.DataFrame]) -> pd.DataFrame:
    """Frames with the same columns and dtypes on top of each other."""
    columns = zip(*map(_arrays, frames), strict=True)
    stacked = pd.DataFrame({place: _column(parts) for place, parts in enumerate(columns)})
    return stacked.set_axis(frames[0].columns, axis=1)


def _arrays(frame: pd.DataFrame) -> list[Any]:
    """The values of each column; the public way makes a Series of each, at ten times the cost."""
    return list(frame._iter_column_arrays())


def _column(parts: tuple[Any, ...]) -> Any:
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return pd.concat([pd.Series(part) for part in parts], ignore_index=True)


def _in_turn(places: list[list[int]], counts: list[int]) -> np.ndarray[Any, Any]:
    """Where the rows of all groups, in order, stand if groups stand in the order of `places`."""
    starts = np.zeros(len(counts) + 1, dtype=np.int64)
    end = 0
    for place in (place for each in places for place in each):
        starts[place] = end
        end += counts[place]
    ranges = [np.arange(starts[place], starts[place] + count) for place, count in enumerate(counts)]
    return np.concatenate(ranges)
