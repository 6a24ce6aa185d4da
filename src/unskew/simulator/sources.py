"""The sources of one stream: which rows each routes, and the reports they receive."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from unskew.checking import check_whole
from unskew.errors import ParameterError
from unskew.kernels.choices import send_by_hash
from unskew.kernels.mixing import salt_all
from unskew.partitioners import FeedbackRouter, Partitioner, WorkerReport
from unskew.partitioners.contract import KeyHashes, Loads, WorkerIds

SourceBy = Literal["turn", "key"]

_SOURCE_SALT = np.uint64(0x736F75726365)


MOST_SOURCES = 100_000


class Sources:
    """The routers of all sources, fed with one stream.

    Rows go to sources in turn, or by a hash of the key (independent of the one that picks
    workers). A coordinated scheme has one router for all.
    """

    def __init__(
        self, partitioner: Partitioner, sources: int, source_by: SourceBy = "turn"
    ) -> None:
        check_whole("sources", sources)
        if not 1 <= sources <= MOST_SOURCES:
            raise ParameterError(
                f"sources={sources} is not in 1..{MOST_SOURCES}: each has its own memory"
            )
        if source_by not in ("turn", "key"):
            raise ParameterError(f"source-by={source_by!r} must be turn or key")
        self.source_by = source_by
        self.routers = [
            partitioner.router(source, sources)
            for source in range(1 if partitioner.coordinated else sources)
        ]
        self.rows = 0

    def route(self, keys: KeyHashes) -> WorkerIds:
        """The worker of every key, in order; each source sees only its own rows."""
        count = len(self.routers)
        if count == 1:
            self.rows += keys.size
            return self.routers[0].route(keys)
        out = np.empty(keys.size, dtype=np.int32)
        for router, part in zip(self.routers, self._shares(keys, count), strict=True):
            out[part] = router.route(np.ascontiguousarray(keys[part]))
        self.rows += keys.size
        return out

    def report(self, loads: Loads) -> None:
        """Report the true load of each worker to every router that learns."""
        for router in self.routers:
            if isinstance(router, FeedbackRouter):
                router.learn(WorkerReport(loads=loads))

    def _shares(self, keys: KeyHashes, count: int) -> list[slice | NDArray[np.intp]]:
        if self.source_by == "turn":
            return [slice((source - self.rows) % count, None, count) for source in range(count)]
        source = np.empty(keys.size, dtype=np.int32)
        send_by_hash(salt_all(keys, _SOURCE_SALT), np.uint64(count), source)
        return [np.flatnonzero(source == number) for number in range(count)]
