"""Work records as bytes: arrays behind a version, their length and a checksum.

Whoever can write into the folder of a memory can write anything: what is read is checked, and
nothing of it is run.
"""

from __future__ import annotations

import hashlib
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unskew._spark.planning.work_record import MOST_KEYS, RANGES, WorkRecord
from unskew.errors import InputError

VERSION = 4
"""Raised whenever an older unskew could misread what is written."""

_MAGIC = b"unskew work record"
_SEAL = struct.Struct(f"<{len(_MAGIC)}sHI32s")
_SIZES = struct.Struct("<HHHdddI")
"""Bytes of the fingerprint, heavy keys, ranges that have any rest; seconds of a merge; drift;
runs that measured nothing since."""
_KEY = np.dtype([("key", "<u8"), ("rows", "<i8"), ("seconds", "<f8"), ("calls", "<i8")])
_RANGE = np.dtype([("range", "<u2"), ("rows", "<i8"), ("seconds", "<f8"), ("calls", "<i8")])
_MOST = 1 << 39  # Rows, calls or seconds of a key: the sum of all of a run is a whole number.

KEY_BYTES = _KEY.itemsize
"""What a heavy key takes."""
RANGE_BYTES = _RANGE.itemsize
"""What a range takes."""


def sealed(body: bytes) -> bytes:
    """A body behind its version, length and checksum."""
    return _SEAL.pack(_MAGIC, VERSION, len(body), hashlib.sha256(body).digest()) + body


def unsealed(content: bytes) -> bytes:
    """Read what `sealed` wrote; raises `InputError` if it is not intact."""
    if len(content) < _SEAL.size or not content.startswith(_MAGIC):
        raise InputError("it is no work record of unskew")
    _, version, length, checksum = _SEAL.unpack_from(content)
    if version != VERSION:
        raise InputError(f"it has version {version}, and this unskew reads version {VERSION}")
    body = content[_SEAL.size :]
    if len(body) != length:
        raise InputError(f"it has {len(body)} bytes instead of {length}")
    if hashlib.sha256(body).digest() != checksum:
        raise InputError("it has changed: its checksum differs")
    return body


def to_bytes(record: WorkRecord) -> bytes:
    """A record, for `from_bytes`."""
    fingerprint = record.fingerprint.encode()
    keys = np.empty(record.keys.size, dtype=_KEY)
    keys["key"] = record.keys
    keys["rows"], keys["seconds"] = record.key_rows, record.key_seconds
    keys["calls"] = record.key_calls
    used = np.flatnonzero(record.rest_calls)
    rest = np.empty(used.size, dtype=_RANGE)
    rest["range"] = used
    rest["rows"], rest["seconds"] = record.rest_rows[used], record.rest_seconds[used]
    rest["calls"] = record.rest_calls[used]
    numbers = (*record.merging, record.drift, record.trusted)
    sizes = _SIZES.pack(len(fingerprint), keys.size, rest.size, *numbers)
    return sealed(sizes + fingerprint + keys.tobytes() + rest.tobytes())


def from_bytes(content: bytes) -> WorkRecord:
    """Read what `to_bytes` wrote; raises `InputError` if it is not a record, or not intact."""
    body = unsealed(content)
    if len(body) < _SIZES.size:
        raise InputError("it is too short for a record")
    length, keys, ranges, *merging, drift, trusted = _SIZES.unpack_from(body)
    start = _SIZES.size + length
    between = start + keys * _KEY.itemsize
    if len(body) != between + ranges * _RANGE.itemsize or keys > MOST_KEYS or ranges > RANGES:
        raise InputError("its sizes do not fit together")
    heavy = np.frombuffer(body, _KEY, keys, start)
    rest = np.frombuffer(body, _RANGE, ranges, between)
    _check(heavy, rest)
    if not all(0 <= seconds <= _MOST for seconds in merging):
        raise InputError(f"its merges take {merging} seconds")
    if not 0 <= drift <= 2:
        raise InputError(f"its drift is {drift}")
    return WorkRecord(
        heavy["key"],
        heavy["rows"],
        heavy["seconds"],
        heavy["calls"],
        _spread(rest, "rows"),
        _spread(rest, "seconds"),
        _spread(rest, "calls"),
        body[_SIZES.size : start].decode(errors="replace"),
        (merging[0], merging[1]),
        drift,
        trusted,
    )


def _check(heavy: NDArray[Any], rest: NDArray[Any]) -> None:
    for part in (heavy, rest):
        for name in ("rows", "seconds", "calls"):
            if not ((part[name] >= 0) & (part[name] <= _MOST)).all():
                raise InputError(f"its {name} are not within 0 and {_MOST}")
        if ((part["calls"] == 0) & ((part["rows"] > 0) | (part["seconds"] > 0))).any():
            raise InputError("it has rows or seconds that no call took")
    if np.unique(heavy["key"]).size != heavy.size:
        raise InputError("it names a key twice")
    if (rest["range"] >= RANGES).any() or np.unique(rest["range"]).size != rest.size:
        raise InputError(f"its ranges are not among {RANGES}")


def _spread(rest: NDArray[Any], name: str) -> NDArray[Any]:
    values = np.zeros(RANGES, dtype=rest[name].dtype)
    values[rest["range"]] = rest[name]
    return values
