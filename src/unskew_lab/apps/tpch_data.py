"""TPC-H as a skewed stream of events: its tables, with Zipf foreign keys, spread over 20 minutes.

Orders and lines come evenly; a line belongs to an order of the five minutes around it. Which
orders, customers and suppliers are the frequent ones changes every five minutes, as in the paper
on workload skewness and variance (z = 0.8, f = 1). TPC-H's own keys are as frequent as each other.
"""

from __future__ import annotations

import datetime
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from unskew.errors import InputError, MissingExtraError
from unskew.hashing import hash_keys
from unskew.kernels import KeyHashes
from unskew.workloads import FluctuatingKeys
from unskew_lab.apps.changing_keys import changing_ids

Tables = Mapping[str, pa.Table]

ZIPF = 0.8
MINUTES, WINDOW, CHANGE = 20, 5, 5
START = datetime.datetime(2024, 1, 1, tzinfo=datetime.UTC)
EVENTS = pa.schema(
    {
        "kind": pa.string(),
        "at": pa.timestamp("us", "UTC"),
        "orderkey": pa.int64(),
        "custkey": pa.int64(),
        "suppkey": pa.int64(),
        "price": pa.decimal128(15, 2),
        "discount": pa.decimal128(15, 2),
        "nation": pa.string(),
        "region": pa.string(),
    }
)
_COLUMNS = {
    "orders": ["o_orderkey"],
    "lineitem": ["l_extendedprice", "l_discount"],
    "customer": ["c_custkey", "c_nationkey"],
    "supplier": ["s_suppkey", "s_nationkey"],
    "nation": ["n_nationkey", "n_name", "n_regionkey"],
    "region": ["r_regionkey", "r_name"],
}


def generate(scale: float, folder: Path) -> None:
    """Write the tables with `tpchgen-cli`; scale 1 is a gigabyte of text."""
    beside = Path(sys.executable).parent
    command = shutil.which("tpchgen-cli", path=beside) or shutil.which("tpchgen-cli")
    if command is None:
        raise MissingExtraError("tpchgen-cli", "lab")
    words = ["parquet", "-s", str(scale), "-T", ",".join(_COLUMNS), "-o", str(folder), "-q"]
    made = subprocess.run([command, *words], capture_output=True, text=True, check=False)
    if made.returncode:
        raise InputError(f"tpchgen-cli failed: {made.stderr.strip()}")


def read(folder: Path) -> Tables:
    """The columns of query 5; foreign keys are not read but drawn."""
    for name in _COLUMNS:
        if not (folder / f"{name}.parquet").exists():
            raise InputError(
                f"{folder} has no {name}.parquet; tpch-q5 needs a folder with the tables "
                f"{', '.join(_COLUMNS)}, as `tpchgen-cli parquet` writes them"
            )
    return {
        name: pq.read_table(folder / f"{name}.parquet", columns=columns)
        for name, columns in _COLUMNS.items()
    }


def events(tables: Tables, seed: int = 42) -> pa.Table:
    """All events in one table: orders and lines with times, customers and suppliers with nation."""
    orders, lines = tables["orders"], tables["lineitem"]
    customers, suppliers = (_with_nation(tables, name) for name in ("customer", "supplier"))
    orderkey = orders["o_orderkey"].to_numpy()
    ordered = {
        "kind": ["order"] * orders.num_rows,
        "at": _times(orders.num_rows),
        "orderkey": orderkey,
        "custkey": _drawn(customers["custkey"].to_numpy(), orders.num_rows, seed),
    }
    shipped = {
        "kind": ["line"] * lines.num_rows,
        "at": _times(lines.num_rows),
        "orderkey": _recent(orderkey, lines.num_rows, seed + 1),
        "suppkey": _drawn(suppliers["suppkey"].to_numpy(), lines.num_rows, seed + 2),
        "price": lines["l_extendedprice"],
        "discount": lines["l_discount"],
    }
    parts = [pa.table(shipped), pa.table(ordered), customers, suppliers]
    return pa.concat_tables([_as_events(part) for part in parts])


def _times(count: int) -> pa.Array:
    """Times that are spread evenly over all minutes."""
    length = MINUTES * 60_000_000
    micros = np.arange(count, dtype=np.int64) * length // max(count, 1)
    return pa.array(int(START.timestamp()) * 1_000_000 + micros, EVENTS.field("at").type)


def _sizes(count: int) -> list[int]:
    """How many of `count` events fall into each minute."""
    borders = -(-np.arange(MINUTES + 1) * count // MINUTES)
    return np.diff(borders).tolist()  # type: ignore[no-any-return]


def _drawn(keys: NDArray[np.int64], count: int, seed: int) -> NDArray[np.int64]:
    """Zipf draws of `keys`, for `count` events."""
    shares = FluctuatingKeys.zipf(ZIPF, keys.size, seed)
    drawn: NDArray[np.int64] = keys[
        np.concatenate(list(changing_ids(shares, _sizes(count), CHANGE)))
    ]
    return drawn


def _recent(keys: NDArray[np.int64], count: int, seed: int) -> NDArray[np.int64]:
    """Zipf draws; in each minute from the keys of the window that ends with it.

    The keys of a window take the places of a Zipf law in turn, so a key keeps its frequency as
    long as it is in the window. In the first minutes keys of the next few are drawn too.
    """
    places = max(keys.size * WINDOW // MINUTES, 1)
    shares = FluctuatingKeys.zipf(ZIPF, places, seed)

    def holding(minute: int) -> NDArray[np.int64]:
        end = keys.size * (minute + 1) // MINUTES
        start = max(end - places, 0)
        return keys[start + (np.arange(places) - start) % places]

    def hashes(minute: int) -> KeyHashes:
        return hash_keys(pa.array(holding(minute)))

    drawn = changing_ids(shares, _sizes(count), CHANGE, hashes)
    return np.concatenate([holding(minute)[ids] for minute, ids in enumerate(drawn)])


def _with_nation(tables: Tables, name: str) -> pa.Table:
    """Customers or suppliers, with the names of their nation and region."""
    first = name[0]
    regions = _lookup(tables["region"], "r_regionkey", "r_name")
    nations = _lookup(tables["nation"], "n_nationkey", "n_name")
    region_of = _lookup(tables["nation"], "n_nationkey", "n_regionkey")
    found: Sequence[int] = tables[name][f"{first}_nationkey"].to_pylist()
    return pa.table(
        {
            "kind": [name] * len(found),
            f"{name[:4]}key": tables[name][f"{first}_{name[:4]}key"],
            "nation": [nations[each] for each in found],
            "region": [regions[region_of[each]] for each in found],
        }
    )


def _lookup(table: pa.Table, key: str, value: str) -> dict[int, Any]:
    return dict(zip(table[key].to_pylist(), table[value].to_pylist(), strict=True))


def _as_events(part: pa.Table) -> pa.Table:
    """The table with the columns of `EVENTS`, null where it has none."""
    columns = [
        part[field.name].cast(field.type)
        if field.name in part.schema.names
        else pa.nulls(part.num_rows, field.type)
        for field in EVENTS
    ]
    return pa.Table.from_arrays(columns, schema=EVENTS)
