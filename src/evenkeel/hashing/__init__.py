"""A key becomes 64 bits: the same bits as Spark's `xxhash64` of the normalised key."""

from __future__ import annotations

from evenkeel.hashing.columns import hash_keys
from evenkeel.hashing.ids import hash_ids

__all__ = ["hash_ids", "hash_keys"]
