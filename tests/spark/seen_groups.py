"""Group functions in every form that Spark takes; each returns what it saw as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa

SCHEMA = "form string, key string, types string, rows array<string>"


def _key(values: tuple[Any, ...]) -> str:
    # Which of -0.0 and 0.0 comes first in a group is Spark's luck.
    plain = [value.as_py() if isinstance(value, pa.Scalar) else value for value in values]
    shown = [0 if isinstance(value, float) and value == 0 else value for value in plain]
    return repr(list(zip(map(str, map(type, values)), map(repr, shown), strict=True)))


def _in_arrow(rows: Any) -> tuple[str, list[str]]:
    found = [repr(row) for row in rows.to_pylist()] if rows.num_columns else []
    return f"{type(rows).__name__} {rows.schema.to_string()}", found


def _in_pandas(frame: pd.DataFrame) -> tuple[str, list[str]]:
    found = [repr(row) for row in frame.itertuples(index=False, name=None)]
    kinds = [(name, str(kind)) for name, kind in zip(frame.columns, frame.dtypes, strict=True)]
    return f"{kinds} {frame.index!r}", found


def _row(form: str, key: str, types: str, rows: list[str]) -> dict[str, list[Any]]:
    return {"form": [form], "key": [key], "types": [types], "rows": [sorted(rows)]}


_RESULT = pa.schema(
    [("form", pa.string()), ("key", pa.string()), ("types", pa.string()),
     ("rows", pa.list_(pa.string()))]
)  # fmt: skip


def arrow_table(table: pa.Table) -> pa.Table:
    chunks = [len(chunk) for chunk in table.column(0).chunks]
    return pa.table(_row(f"arrow {chunks}", "", *_in_arrow(table)), schema=_RESULT)


def arrow_table_with_key(key: tuple[pa.Scalar, ...], table: pa.Table) -> pa.Table:
    return pa.table(_row("arrow, key", _key(key), *_in_arrow(table)), schema=_RESULT)


def arrow_batches(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    sizes, types, rows = [], "", []
    for batch in batches:
        types, found = _in_arrow(batch)
        sizes.append(batch.num_rows)
        rows += found
    yield pa.RecordBatch.from_pydict(_row(f"batches {sizes}", "", types, rows), schema=_RESULT)


def arrow_first_batch(
    key: tuple[pa.Scalar, ...], batches: Iterator[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    row = _row(f"first of {next(batches).num_rows}", _key(key), "", [])
    yield pa.RecordBatch.from_pydict(row, schema=_RESULT)


def pandas_frame(frame: pd.DataFrame) -> pd.DataFrame:
    result = pd.DataFrame(_row("pandas", "", *_in_pandas(frame)))
    frame.iloc[:, 0] = None  # A function may change its frame.
    return result


def pandas_frame_with_key(key: tuple[Any, ...], frame: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(_row("pandas, key", _key(key), *_in_pandas(frame)))


def pandas_frames(frames: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    for frame in frames:
        # Which rows share a batch, and so its dtypes, is Spark's luck.
        yield pd.DataFrame(_row(f"frame of {len(frame)}", "", "", []))


def both_in_arrow(key: tuple[pa.Scalar, ...], left: pa.Table, right: pa.Table) -> pa.Table:
    (types, rows), (more_types, more) = _in_arrow(left), _in_arrow(right)
    row = _row("cogroup", _key(key), types + more_types, [*rows, "|", *more])
    return pa.table(row, schema=_RESULT)


def both_in_pandas(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
    (types, rows), (more_types, more) = _in_pandas(left), _in_pandas(right)
    return pd.DataFrame(_row("cogroup", "", types + more_types, [*rows, "|", *more]))


IN_ARROW = [arrow_table, arrow_table_with_key, arrow_batches, arrow_first_batch]
IN_PANDAS = [pandas_frame, pandas_frame_with_key, pandas_frames]
