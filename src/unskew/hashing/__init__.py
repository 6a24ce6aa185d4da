"""A key becomes 64 bits: the same bits as Spark's `xxhash64` of the normalised key."""

from __future__ import annotations

from unskew.hashing.columns import hash_keys
from unskew.hashing.ids import hash_ids

__all__ = ["hash_ids", "hash_keys"]
