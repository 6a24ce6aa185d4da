"""Generated streams in place of data sets that are not public, with the same hottest key.

Each draw hashes the keys by another function, as if a scheme had another hash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from unskew.kernels import KeyHashes
from unskew.kernels.mixing import salt_all
from unskew.workloads import LogNormalStream, Stream, ZipfStream, zipf_probabilities
from unskew_lab.papers.cells import Repeated, real
from unskew_lab.papers.specification import Cell, Setting

WIKIPEDIA_TOP = 0.0932
TWITTER_TOP = 0.0267
REAL_STREAMS = 6
_FIRST_SALT = 0x64726177
"""Schemes salt keys with small numbers for their further choices; draws use others."""


@cache
def exponent_for(top: float, keys: int) -> float:
    """The Zipf exponent at which the hottest of `keys` keys has the share `top`.

    >>> round(exponent_for(0.0932, keys=1_000_000), 3)
    1.047
    """
    low, high = 0.0, 4.0
    while high - low > 1e-6:
        middle = (low + high) / 2
        if zipf_probabilities(middle, keys)[0] < top:
            low = middle
        else:
            high = middle
    return round(low, 4)


def size(setting: Setting, quick: int = 1_000_000, full: int = 10_000_000) -> int:
    """How many messages to send."""
    return quick if setting.quick else full


@dataclass(frozen=True, slots=True)
class Rehashed:
    """A stream whose keys are hashed by the function with the number `draw`."""

    stream: Stream
    draw: int

    @property
    def messages(self) -> int:
        """How many rows there are."""
        return self.stream.messages

    def chunks(self) -> Iterator[KeyHashes]:
        """The key hashes of all rows, in order."""
        salt = np.uint64(_FIRST_SALT + self.draw)
        return (salt_all(chunk, salt) for chunk in self.stream.chunks())


def zipf(setting: Setting, exponent: float, keys: int, messages: int) -> Rehashed:
    """Zipf keys of one draw."""
    return Rehashed(ZipfStream(exponent, keys, messages, setting.seed), setting.draw)


def wikipedia(setting: Setting, messages: int | None = None) -> Rehashed:
    """Like WP: the hottest page has 9.32 % of the visits."""
    keys = 100_000 if setting.quick else 1_000_000
    return zipf(setting, exponent_for(WIKIPEDIA_TOP, keys), keys, messages or size(setting))


def twitter(setting: Setting, messages: int | None = None) -> Rehashed:
    """Like TW: the hottest word has 2.67 %."""
    keys = 100_000 if setting.quick else 1_000_000
    return zipf(setting, exponent_for(TWITTER_TOP, keys), keys, messages or size(setting))


def lognormal(setting: Setting, number: int, messages: int = 10_000_000) -> Rehashed:
    """LN₁ or LN₂, as the paper gives them."""
    mu, sigma = ((1.789, 2.366), (2.245, 1.133))[number - 1]
    return Rehashed(LogNormalStream(mu, sigma, messages, setting.seed), setting.draw)


def on_reals(
    cells: Callable[[Setting, str, Stream], Sequence[Cell]],
    messages: Callable[[Setting], int] | None = None,
    most: int | None = REAL_STREAMS,
) -> Callable[[Setting], dict[str, Sequence[Cell]]]:
    """The cells of a figure for each of the largest real streams."""

    def every(setting: Setting) -> dict[str, Sequence[Cell]]:
        rows = messages(setting) if messages else None
        return {
            name: cells(setting, name, stream) for name, stream in named_reals(setting, rows, most)
        }

    return every


def named_reals(
    setting: Setting, messages: int | None = None, most: int | None = REAL_STREAMS
) -> Sequence[tuple[str, Stream]]:
    """The largest real streams of the setting, each repeated until it has `messages` rows."""
    largest = sorted(setting.streams(), key=lambda path: -path.stat().st_size)[:most]
    streams = [(path.stem, real(path)) for path in sorted(largest)]
    if messages is None:
        return streams
    return [(name, Repeated(stream, messages)) for name, stream in streams]
