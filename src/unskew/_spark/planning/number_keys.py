"""The values of a numeric key as keys of a record: in the order of the values, and exact.

A key is the sign, seven bits of the exponent and all of the fraction of a double. A record sums up
the keys that it does not name by their upper ten bits: here, by quarters of a doubling.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unskew._spark.planning.machine import Seconds
from unskew._spark.planning.work_record import RANGES, Hashes

_ZERO = np.uint64(1 << 63)
_LEAST = np.int64((1023 - 64) << 52)  # The bits of 2**-64: what is nearer to 0 counts as 0.
_MOST = np.int64((128 << 52) - 1)  # Beyond 2**64 all values are one.
_SPARE = 4  # Bits that seven bits of exponent instead of eleven leave free.
_NO_NUMBER = np.uint64(0)
_EIGHTH = np.uint64(53)  # Bits of a key below those that tell an eighth of a doubling.


def keys_of_numbers(values: Seconds) -> Hashes:
    """The keys of doubles; NaN has one, too, below all others.

    >>> keys = keys_of_numbers(np.array([-3.0, -0.0, 0.0, 1e-9, 2020.0, 2021.0, np.inf]))
    >>> (np.diff(keys.view(np.int64)) > 0).tolist()
    [True, False, True, True, True, True]
    >>> numbers_of(keys).tolist()[:-1]
    [-3.0, 0.0, 0.0, 1e-09, 2020.0, 2021.0]
    """
    given = np.ascontiguousarray(values, dtype=np.float64)
    bits = np.abs(given).view(np.int64)
    size = (np.clip(bits - _LEAST, 0, _MOST) << _SPARE).astype(np.uint64)
    keys = np.where(given < 0, _ZERO - size, _ZERO + size)
    found: Hashes = np.where(np.isnan(given), _NO_NUMBER, keys)
    return found


def numbers_of(keys: Hashes) -> Seconds:
    """The values that have these keys."""
    below = keys < _ZERO
    size = np.where(below, _ZERO - keys, keys - _ZERO) >> np.uint64(_SPARE)
    bits = np.where(size > 0, np.minimum(size, np.uint64(_MOST)) + np.uint64(_LEAST), 0)
    sizes = bits.astype(np.uint64).view(np.float64)
    found: Seconds = np.where(keys < 1 << _SPARE, np.nan, np.where(below, -sizes, sizes))
    return found


def middles_of_ranges() -> Seconds:
    """The value in the middle of each range of keys that a record does not name."""
    width = 64 - (RANGES.bit_length() - 1)
    starts = np.arange(RANGES, dtype=np.uint64) << np.uint64(width)
    return numbers_of(starts + np.uint64(1 << (width - 1)))


def neighbours(keys: Hashes, rows: Seconds, most: int) -> NDArray[np.int64]:
    """The group of each of the keys, which rise: values next to each other share one.

    A group spans an eighth of a doubling at most, and the many rows of a narrow range of values
    are in up to `most` groups.
    """
    before = np.cumsum(rows) - rows / 2
    slices = (before / max(float(rows.sum()), 1.0) * most).astype(np.int64)
    begins = (np.diff(keys >> _EIGHTH) > 0) | (np.diff(slices) > 0)
    return np.concatenate([[0], np.cumsum(begins)])[: keys.size]
