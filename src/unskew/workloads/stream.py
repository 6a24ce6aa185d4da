"""The protocol of a stream of rows: key hashes in chunks, readable any number of times."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from unskew.errors import ParameterError
from unskew.kernels import KeyHashes

CHUNK = 1 << 16
"""Rows that are in memory at a time: large enough for the kernels, small for a billion rows."""


class Stream(Protocol):
    """A stream that can be read from its start any number of times."""

    @property
    def messages(self) -> int:
        """How many rows there are."""
        ...

    def chunks(self) -> Iterator[KeyHashes]:
        """The key hashes of all rows, in order."""
        ...


def chunk_sizes(messages: int) -> Iterator[int]:
    """The sizes of the chunks of `messages` rows.

    >>> list(chunk_sizes(100_000))
    [65536, 34464]
    """
    for start in range(0, messages, CHUNK):
        yield min(CHUNK, messages - start)


def check_at_least(name: str, value: float, least: float) -> None:
    """Raise unless the value is finite and at least `least`."""
    if not value >= least:
        raise ParameterError(f"{name}={value} must be at least {least}")
    if value == float("inf"):
        raise ParameterError(f"{name}={value} must be finite")
