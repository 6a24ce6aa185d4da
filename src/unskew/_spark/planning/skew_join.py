"""What Spark itself does about skewed joins: it splits large partitions, by their bytes."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import SparkSession

_ADAPTIVE = "spark.sql.adaptive."
_UNITS = {"": 0, "b": 0, "k": 10, "m": 20, "g": 30, "t": 40, "p": 50}


@dataclass(frozen=True, slots=True)
class SkewJoin:
    """The session's settings of it."""

    on: bool = True
    advisory: float = 64 << 20
    """Bytes of a part."""
    threshold: float = 256 << 20
    """Bytes above which a partition of a join may be split."""
    factor: float = 5.0
    """How many times the median partition it must have, too."""

    @classmethod
    def of(cls, session: SparkSession) -> SkewJoin:
        """As the session has them."""

        def said(name: str) -> str:
            return str(session.conf.get(_ADAPTIVE + name)).lower()

        usual = cls()
        return cls(
            said("enabled") == said("skewJoin.enabled") == "true",
            bytes_of(said("advisoryPartitionSizeInBytes"), usual.advisory),
            bytes_of(said("skewJoin.skewedPartitionThresholdInBytes"), usual.threshold),
            float(said("skewJoin.skewedPartitionFactor")),
        )

    def parts(self, sizes: NDArray[np.float64]) -> NDArray[np.int64]:
        """Into how many tasks each partition of one side of a join is split."""
        skewed = sizes > max(self.threshold, self.factor * float(np.median(sizes)))
        if not self.on or not skewed.any():
            return np.ones(sizes.size, dtype=np.int64)
        others = sizes[~skewed]
        target = max(self.advisory, float(others.mean()) if others.size else 1.0, 1.0)
        return np.where(skewed, np.ceil(sizes / target), 1).astype(np.int64)


def bytes_of(text: str, otherwise: float) -> float:
    """A size as Spark's settings write it; `otherwise` if it is written in another way.

    >>> [bytes_of(text, 7.0) for text in ("64MB", "16k", "100", "-1")]
    [67108864.0, 16384.0, 100.0, 7.0]
    """
    found = re.fullmatch(r"(\d+)([bkmgtp]?)b?", text.lower())
    return float(int(found[1]) << _UNITS[found[2]]) if found else otherwise
