"""Groups of Arrow rows as the pandas frames that Spark would make of them.

Spark converts every group by itself. Here a bundle's columns are converted once and cut. The trap:
dtypes depend on the group. A column of whole numbers is float64 in a group with a null and int64
in one without, so that a bundle has a frame for each combination of columns with nulls that occurs.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    FractionalType,
    IntegralType,
    StringType,
    TimestampNTZType,
    TimestampType,
)

from unskew._spark.engine.calls import Side
from unskew._spark.engine.spark_rules import WorkerSettings

_CUT = (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    FractionalType,
    IntegralType,
    StringType,
    TimestampNTZType,
    TimestampType,
)
"""Types whose values are converted alike whatever other values, nulls apart, stand beside them."""


class GroupFrames:
    """The groups of one side of a bundle."""

    def __init__(self, side: Side, settings: WorkerSettings) -> None:
        rows = side.rows.combine_chunks()
        kinds = from_arrow_schema(rows.schema)
        self._bounds = side.starts.tolist()
        self._columns = [
            _Column(rows.column(place), kind.dataType, kind.name, settings)
            for place, kind in enumerate(kinds)
        ]
        self._varying = [each for each in self._columns if each.varies]
        self._alone = [place for place, each in enumerate(self._columns) if not each.is_cut]
        self._wholes: dict[tuple[bool, ...], pd.DataFrame] = {}

    def frame(self, group: int) -> pd.DataFrame:
        """A group, with rows numbered from 0, that the function may keep and change."""
        start, end = self._bounds[group], self._bounds[group + 1]
        if len(self._bounds) == 2:
            return pd.concat([each.converted(start, end) for each in self._columns], axis=1)
        nulls = tuple(each.has_null(start, end) for each in self._varying)
        whole = self._wholes.get(nulls)
        if whole is None:
            whole = self._wholes[nulls] = self._whole(nulls)
        # A slice, not a copy, in half the time: no other group has these rows.
        frame = whole.iloc[start:end]
        frame.index = pd.RangeIndex(end - start)
        frame._is_copy = None
        for place in self._alone:
            frame.isetitem(place, self._columns[place].converted(start, end))
        return frame

    def first_row(self, group: int) -> tuple[Any, ...]:
        """The values of a group's first row, as a function gets them for its key."""
        return tuple(each.value(self._bounds[group]) for each in self._columns)

    def _whole(self, nulls: tuple[bool, ...]) -> pd.DataFrame:
        """All rows, with the dtypes of groups that have nulls just where `nulls` says."""
        has_null = dict(zip(map(id, self._varying), nulls, strict=True))
        return pd.concat(
            [each.whole(has_null.get(id(each), True)) for each in self._columns], axis=1
        )


class _Column:
    """One column of a bundle."""

    def __init__(
        self, values: pa.ChunkedArray, kind: DataType, name: str, settings: WorkerSettings
    ) -> None:
        self._values, self._kind, self._name, self._settings = values, kind, name, settings
        extension = settings.int_extension_types and isinstance(kind, IntegralType)
        self._wholes: dict[bool, pd.Series] = {}
        self.is_cut = isinstance(kind, _CUT) and not extension
        self.varies = (
            self.is_cut and isinstance(kind, BooleanType | IntegralType) and values.null_count > 0
        )

    def has_null(self, start: int, end: int) -> bool:
        """Whether there is a null among these rows."""
        return bool(self._nulls[end] > self._nulls[start])

    @cached_property
    def _nulls(self) -> Any:
        missing = self._values.is_null().to_numpy().astype(np.int64)
        return np.concatenate([[0], np.cumsum(missing)])

    def whole(self, with_nulls: bool) -> pd.Series:
        """All values; as they would be converted without nulls unless `with_nulls`."""
        if not self.is_cut:
            return pd.Series([None] * len(self._values), dtype=object, name=self._name)
        if with_nulls not in self._wholes:
            filler = False if isinstance(self._kind, BooleanType) else 0
            values = self._values if with_nulls else self._values.fill_null(filler)
            self._wholes[with_nulls] = self._in_pandas(values)
        return self._wholes[with_nulls]

    def value(self, row: int) -> Any:
        """One value, as it is converted in a group in which this column does not change."""
        if not self.is_cut:
            return self.converted(row, row + 1).iloc[0]
        return self.whole(not self.varies or self.has_null(row, row + 1)).iloc[row]

    def converted(self, start: int, end: int) -> pd.Series:
        """These rows, converted by themselves."""
        return self._in_pandas(self._values.slice(start, end - start))

    def _in_pandas(self, values: pa.ChunkedArray) -> pd.Series:
        from pyspark.sql.conversion import ArrowArrayToPandasConversion

        if not values.num_chunks:  # Of no pieces Spark's conversion cannot tell the type.
            values = pa.chunked_array([pa.nulls(0, values.type)])
        series = ArrowArrayToPandasConversion.convert(
            values,
            self._kind,
            ser_name=self._name,
            timezone=self._settings.zone,
            prefer_int_ext_dtype=self._settings.int_extension_types,
        )
        series.name = self._name  # Slices of a column have lost it.
        return series
