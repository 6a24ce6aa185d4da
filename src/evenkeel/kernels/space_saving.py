"""SpaceSaving: the most frequent keys of a stream in a fixed number of counters, O(1) per row.

Entries keep their number for good; `ranked` lists them by falling count. Entries of equal count
stand together in a bucket, which knows its count and its first rank. A count grows by one, so an
entry swaps with the first of its bucket and steps over the border: no search, no heap.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenkeel.kernels import KeyHashes, compiled
from evenkeel.kernels.mixing import mix

_NONE = np.int32(-1)
_Ints = NDArray[np.int32]


class Summary(NamedTuple):
    """The arrays of one summary. `used` holds [entries in use, free buckets, keys seen]."""

    keys: KeyHashes
    errors: NDArray[np.int64]
    ranks: _Ints
    ranked: _Ints
    buckets: _Ints
    bucket_first: _Ints
    bucket_count: NDArray[np.int64]
    free_buckets: _Ints
    heads: _Ints
    following: _Ints
    used: NDArray[np.int64]


def empty_summary(capacity: int) -> Summary:
    """A summary with room for `capacity` keys."""
    heads = 1 << (2 * capacity - 1).bit_length()
    return Summary(
        keys=np.zeros(capacity, dtype=np.uint64),
        errors=np.zeros(capacity, dtype=np.int64),
        ranks=np.zeros(capacity, dtype=np.int32),
        ranked=np.zeros(capacity, dtype=np.int32),
        buckets=np.zeros(capacity, dtype=np.int32),
        bucket_first=np.zeros(capacity + 1, dtype=np.int32),
        bucket_count=np.zeros(capacity + 1, dtype=np.int64),
        free_buckets=np.arange(capacity + 1, dtype=np.int32),
        heads=np.full(heads, _NONE, dtype=np.int32),
        following=np.full(capacity, _NONE, dtype=np.int32),
        used=np.array([0, capacity + 1, 0], dtype=np.int64),
    )


@compiled
def observe(summary: Summary, key: np.uint64) -> np.int64:
    """Count one occurrence of `key`; return its estimated count, never below the true one."""
    summary.used[2] += 1
    home = np.int64(mix(key) & np.uint64(summary.heads.size - 1))
    entry = summary.heads[home]
    while entry != _NONE and summary.keys[entry] != key:
        entry = summary.following[entry]
    if entry == _NONE:
        entry = _append(summary) if summary.used[0] < summary.keys.size else _evict(summary)
        summary.keys[entry] = key
        summary.following[entry] = summary.heads[home]
        summary.heads[home] = entry
    return _increment(summary, entry)


@compiled
def observe_all(summary: Summary, keys: KeyHashes) -> None:
    """Count every key."""
    for i in range(keys.size):
        observe(summary, keys[i])


@compiled
def _append(summary: Summary) -> np.int32:
    """Open the next unused entry, with count 0, at the end of the ranking."""
    entry = np.int32(summary.used[0])
    summary.used[0] += 1
    summary.ranked[entry] = entry
    summary.ranks[entry] = entry
    summary.buckets[entry] = _open_bucket(summary, entry, np.int64(0))
    return entry


@compiled
def _evict(summary: Summary) -> np.int32:
    """Take the last entry of the ranking from its key; its count stays, as the newcomer's error."""
    entry = summary.ranked[summary.keys.size - 1]
    home = np.int64(mix(summary.keys[entry]) & np.uint64(summary.heads.size - 1))
    if summary.heads[home] == entry:
        summary.heads[home] = summary.following[entry]
    else:
        before = summary.heads[home]
        while summary.following[before] != entry:
            before = summary.following[before]
        summary.following[before] = summary.following[entry]
    summary.errors[entry] = summary.bucket_count[summary.buckets[entry]]
    return entry


@compiled
def _open_bucket(summary: Summary, first: np.int32, count: np.int64) -> np.int32:
    summary.used[1] -= 1
    bucket = summary.free_buckets[summary.used[1]]
    summary.bucket_first[bucket] = first
    summary.bucket_count[bucket] = count
    return bucket


@compiled
def _close_bucket(summary: Summary, bucket: np.int32) -> None:
    summary.free_buckets[summary.used[1]] = bucket
    summary.used[1] += 1


@compiled
def _increment(summary: Summary, entry: np.int32) -> np.int64:
    bucket = summary.buckets[entry]
    first = summary.bucket_first[bucket]
    count = summary.bucket_count[bucket] + 1
    other = summary.ranked[first]
    summary.ranked[summary.ranks[entry]] = other
    summary.ranks[other] = summary.ranks[entry]
    summary.ranked[first] = entry
    summary.ranks[entry] = first

    alone = first + 1 == summary.used[0] or summary.buckets[summary.ranked[first + 1]] != bucket
    above = summary.buckets[summary.ranked[first - 1]] if first > 0 else _NONE
    if above != _NONE and summary.bucket_count[above] == count:
        summary.buckets[entry] = above
        if alone:
            _close_bucket(summary, bucket)
        else:
            summary.bucket_first[bucket] = first + 1
    elif alone:
        summary.bucket_count[bucket] = count
    else:
        summary.bucket_first[bucket] = first + 1
        summary.buckets[entry] = _open_bucket(summary, first, count)
    return count
