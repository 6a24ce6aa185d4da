"""A key that must stay whole and is more than a worker's share: what can be done about it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from unskew._spark.planning.key_names import KeyNames
from unskew.partitioners.contract import KeyHashes

_FAIR = 1.05
"""Up to this times a worker's share a key decides nothing."""


class HotKey(NamedTuple):
    """The heaviest key, whose worker takes longest however all others are placed."""

    hash: int
    """As a signed number."""
    share: float
    """Of all work."""
    workers: int

    @classmethod
    def among(
        cls, keys: KeyHashes, weights: NDArray[np.float64], total: float, workers: int
    ) -> HotKey | None:
        """The heaviest of the keys; None if it is no more than a worker's share."""
        if not weights.size or total <= 0:
            return None
        heaviest = int(weights.argmax())
        share = float(weights[heaviest]) / total
        if share * workers <= _FAIR:
            return None
        return cls(int(keys[heaviest : heaviest + 1].view(np.int64)[0]), share, workers)

    def lines(self, names: KeyNames | None) -> Iterator[str]:
        """What it does to the job, and what people do about it.

        >>> print(*HotKey(7, 0.4, 8).lines(None), sep="\\n")
        hot key   0000000000000007 is whole: 40.0% of the work, 3.2 times a worker's share
                  merge=, if results of parts of a key can be merged: up to 3.2 times as fast
                  a sub-key, if its parts can be groups of their own: up to 3.2 times as fast
                  taken out and treated alone: all other keys are done 5.3 times as fast, it is not
        """
        known = {} if names is None else names.of([self.hash])
        key = known.get(self.hash, f"{self.hash & (1 << 64) - 1:016x}")
        times = self.share * self.workers
        others = times / max(1 - self.share, 1 / self.workers)
        yield (
            f"hot key   {key} is whole: {self.share:.1%} of the work, {times:.1f} times a worker's "
            "share"
        )
        for way in (
            f"merge=, if results of parts of a key can be merged: up to {times:.1f} times as fast",
            f"a sub-key, if its parts can be groups of their own: up to {times:.1f} times as fast",
            f"taken out and treated alone: all other keys are done {others:.1f} times as fast, it "
            "is not",
        ):
            yield f"{'':10}{way}"
