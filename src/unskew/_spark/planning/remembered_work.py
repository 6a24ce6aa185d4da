"""What an earlier run took, as the cost, the work and the statistics of the next one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unskew._spark.planning.cost_model import FunctionCost, fitted
from unskew._spark.planning.statistics import KeyProfile
from unskew._spark.planning.work import KeyWork
from unskew._spark.planning.work_record import WorkRecord
from unskew.partitioners import KeyGrouping


def cost_of(record: WorkRecord) -> FunctionCost:
    """What calls took, by their rows; waiting for a core counts, as it did then."""
    calls = np.append(record.key_calls, record.rest_calls)
    seen = calls > 0
    rows = np.append(record.key_rows, record.rest_rows)[seen] / calls[seen]
    seconds = np.append(record.key_seconds, record.rest_seconds)[seen] / calls[seen]
    pairs = list(zip(rows.tolist(), seconds.tolist(), strict=True))
    return replace(fitted(pairs), source="an earlier run", busy=0.0)


def work_of(record: WorkRecord, ranges: int) -> KeyWork:
    """The seconds of keys, as they were."""
    keys, seconds, rest = record.weights(ranges)
    by_key = dict(zip(record.keys.tolist(), record.key_rows.tolist(), strict=True))
    rows = np.array([by_key[key] for key in keys.tolist()], dtype=np.float64)
    return KeyWork(float(record.rows), float(_groups(record)), keys, rows, seconds, rest)


def profile_of(record: WorkRecord, ranges: int) -> KeyProfile:
    """The rows of keys, as they were."""
    keys, rows, rest = record.weights(ranges, "rows")
    owners = KeyGrouping(ranges).router().route(keys)
    loads = rest + np.bincount(owners, rows, minlength=ranges)
    count = int(record.rows)
    return KeyProfile(ranges, count, _groups(record), 0, loads, keys, rows, 0.0, "an earlier run")


def _groups(record: WorkRecord) -> int:
    """Different keys, at most: light keys were called for once in each task that had them."""
    return int(record.keys.size + record.rest_calls.sum())
