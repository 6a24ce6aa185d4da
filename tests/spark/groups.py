"""Functions of a group in every form that Spark takes: all return the ids of the group, sorted."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
import pyarrow as pa

SCHEMA = "ids array<bigint>"
_LIST = pa.list_(pa.int64())


def ids(table: pa.Table) -> pa.Table:
    return pa.table({"ids": pa.array([sorted(table["id"].to_pylist())], _LIST)})


def ids_with_key(key: tuple, table: pa.Table) -> pa.Table:
    assert len(key) == 1
    return ids(table)


def ids_by_batch(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    found = sorted(value for batch in batches for value in batch["id"].to_pylist())
    yield pa.record_batch({"ids": pa.array([found], _LIST)})


def ids_in_pandas(rows: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"ids": [sorted(rows["id"])]})


def ids_in_pandas_by_batch(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
    found = sorted(value for batch in batches for value in batch["id"])
    yield pd.DataFrame({"ids": [found]})


def joined(table: pa.Table) -> pa.Table:
    parts = table["ids"].to_pylist()
    found = [sorted(value for part in parts for value in part)] if parts else []
    return pa.table({"ids": pa.array(found, _LIST)})


def joined_in_pandas(rows: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({"ids": [sorted(value for part in rows["ids"] for value in part)]})
