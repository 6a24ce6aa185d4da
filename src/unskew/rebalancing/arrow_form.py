"""A routing table as an Arrow table, for Parquet files and broadcast joins."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa

from unskew.errors import InputError
from unskew.partitioners.routing_table import RoutingTable
from unskew.partitioners.serialization import from_json, to_json

_METADATA = b"unskew.routing-table"


def table_to_arrow(table: RoutingTable) -> pa.Table:
    """One row per entry, `key` and `worker`; the rest of the table is in the schema's metadata.

    >>> arrow = table_to_arrow(RoutingTable(2, np.array([7], np.uint64), np.array([1], np.int32)))
    >>> arrow.to_pydict()
    {'key': [7], 'worker': [1]}
    >>> table_from_arrow(arrow).workers
    2
    """
    empty = dataclasses.replace(
        table, keys=np.empty(0, dtype=np.uint64), owners=np.empty(0, dtype=np.int32)
    )
    entries = pa.table({"key": pa.array(table.keys), "worker": pa.array(table.owners)})
    return entries.replace_schema_metadata({_METADATA: to_json(empty)})


def table_from_arrow(arrow: pa.Table) -> RoutingTable:
    """The table that `table_to_arrow` wrote."""
    written = (arrow.schema.metadata or {}).get(_METADATA)
    empty = from_json(written.decode()) if written else None
    if not isinstance(empty, RoutingTable):
        raise InputError("not a routing table: its schema does not say over which scheme it lies")
    return dataclasses.replace(
        empty,
        keys=arrow["key"].to_numpy().astype(np.uint64),
        owners=arrow["worker"].to_numpy().astype(np.int32),
    )
