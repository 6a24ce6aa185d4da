"""Generated streams in place of data sets that are not public, with the same hottest key."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from unskew.workloads import LogNormalStream, Stream, ZipfStream, zipf_probabilities
from unskew_lab.papers.cells import Repeated, real
from unskew_lab.papers.specification import Setting

WIKIPEDIA_TOP = 0.0932
TWITTER_TOP = 0.0267
REAL_STREAMS = 6


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


def wikipedia(setting: Setting, messages: int | None = None) -> ZipfStream:
    """Like WP: the hottest page has 9.32 % of the visits."""
    keys = 100_000 if setting.quick else 1_000_000
    rows = messages or size(setting)
    return ZipfStream(exponent_for(WIKIPEDIA_TOP, keys), keys, rows, setting.seed)


def twitter(setting: Setting) -> ZipfStream:
    """Like TW: the hottest word has 2.67 %."""
    keys = 100_000 if setting.quick else 1_000_000
    return ZipfStream(exponent_for(TWITTER_TOP, keys), keys, size(setting), setting.seed)


def lognormal(setting: Setting, number: int) -> LogNormalStream:
    """LN₁ or LN₂, as the paper gives them."""
    mu, sigma = ((1.789, 2.366), (2.245, 1.133))[number - 1]
    return LogNormalStream(mu, sigma, 10_000_000, setting.seed)


def named_reals(
    setting: Setting, messages: int | None = None, most: int | None = REAL_STREAMS
) -> Sequence[tuple[str, Stream]]:
    """The largest real streams of the setting, each repeated until it has `messages` rows."""
    largest = sorted(setting.streams(), key=lambda path: -path.stat().st_size)[:most]
    streams = [(path.stem, real(path)) for path in sorted(largest)]
    if messages is None:
        return streams
    return [(name, Repeated(stream, messages)) for name, stream in streams]
