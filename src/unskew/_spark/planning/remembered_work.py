"""What an earlier run took, as the cost, the work and the statistics of the next one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from unskew._spark.planning.cost_model import FunctionCost, fitted
from unskew._spark.planning.statistics import KeyProfile
from unskew._spark.planning.work import KeyWork
from unskew._spark.planning.work_record import RANGES, Hashes, WorkRecord
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


def record_of(profile: KeyProfile, named: Hashes, fingerprint: str) -> WorkRecord:
    """The rows of keys that were counted, those of `named` one by one; for `profile_of`.

    A row counts as a second: drift is that of the rows.
    """
    heavy = np.isin(profile.keys, named)
    keys, rows = profile.keys[heavy], np.rint(profile.counts[heavy]).astype(np.int64)
    owners = KeyGrouping(profile.workers).router().route(keys)
    others = profile.loads - np.bincount(owners, rows, minlength=profile.workers)
    rest = np.zeros(RANGES)
    rest[:: RANGES // profile.workers] = np.rint(np.maximum(others, 0.0))
    light = max(profile.distinct - keys.size, 0) * rest / max(rest.sum(), 1)
    groups = np.where(rest > 0, np.maximum(np.rint(light), 1), 0).astype(np.int64)
    return WorkRecord(
        keys,
        rows,
        rows.astype(np.float64),
        np.ones_like(rows),
        rest.astype(np.int64),
        rest,
        groups,
        fingerprint,
    )


def _groups(record: WorkRecord) -> int:
    """Different keys, at most: light keys were called for once in each task that had them."""
    return int(record.keys.size + record.rest_calls.sum())
