"""The suite is worth something only if it fails on a scheme that breaks a promise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from tests.partitioners import conformance
from tests.partitioners.streams import POOL

from unskew.partitioners import ALL, KeyGrouping, Need, StaticRoutes
from unskew.partitioners.contract import PartitionerBase
from unskew.partitioners.static import SplitTable

STREAM = np.tile(POOL[:20], 10)


@dataclass(frozen=True)
class Scheme(PartitionerBase):
    """Sends every row to worker 0: keeps every promise."""

    scheme: ClassVar[str] = "throw-away"
    need: ClassVar[Need] = Need.WHOLE_KEY
    max_replicas: ClassVar[int] = 1
    workers: int = 4

    def router(self, source=0, sources=1):
        return self

    def route(self, keys):
        return np.zeros(keys.size, dtype=np.int32)


class OutOfRange(Scheme):
    def route(self, keys):
        return np.full(keys.size, self.workers, dtype=np.int32)


class WrongType(Scheme):
    def route(self, keys):
        return np.zeros(keys.size, dtype=np.int64)


class LosesARow(Scheme):
    def route(self, keys):
        return np.zeros(max(keys.size - 1, 0), dtype=np.int32)


class Forgetful(Scheme):
    """Round robin that starts over with every batch."""

    def route(self, keys):
        return (np.arange(keys.size) % self.workers).astype(np.int32)


class Fickle(Scheme):
    def route(self, keys):
        return np.random.default_rng().integers(0, self.workers, keys.size, dtype=np.int32)


class Destructive(Scheme):
    def route(self, keys):
        keys[:] = 0
        return super().route(keys)


class Splitting(Scheme):
    """Promises whole keys and deals them out."""

    route = Forgetful.route


class PromisesTooMuch(Scheme):
    """Whole keys, on two workers."""

    max_replicas: ClassVar[int] = 2


class SourcesDisagree(Scheme):
    """Whole keys within a source, but not across sources."""

    def router(self, source=0, sources=1):
        return ConstantRouter(source % self.workers)


@dataclass
class ConstantRouter:
    worker: int

    def route(self, keys):
        return np.full(keys.size, self.worker, dtype=np.int32)


class ComparesByIdentity(Scheme):
    __eq__ = object.__eq__
    __hash__ = object.__hash__


class FailsOnNothing(Scheme):
    def route(self, keys):
        return np.full(keys.size, keys.max() * np.uint64(0), dtype=np.int32)


class StaticElsewhere(Scheme):
    """Its data says that every key goes by its hash."""

    static = KeyGrouping(4).static


class SaysItCutsNothing(Scheme):
    """Splits keys that it does not name."""

    max_replicas: ClassVar[int] = 2
    cut = np.empty(0, dtype=np.uint64)


class OtherShares(Scheme):
    """Sends all rows of a key to one of the two workers that its data names."""

    max_replicas: ClassVar[int] = 2
    static = StaticRoutes(
        4,
        SplitTable(
            np.sort(POOL[:20]),
            2 * np.arange(21),
            np.tile(np.array([0, 1], dtype=np.int32), 20),
            np.full(40, 0.5),
        ),
    )


BROKEN = [
    (StaticElsewhere, conformance.static_routes_are_the_routers),
    (SaysItCutsNothing, conformance.static_routes_are_the_routers),
    (OtherShares, conformance.static_routes_are_the_routers),
    (OutOfRange, conformance.worker_ids_are_valid),
    (WrongType, conformance.worker_ids_are_valid),
    (LosesARow, conformance.worker_ids_are_valid),
    (Fickle, conformance.routes_repeat),
    (Destructive, conformance.keys_are_left_alone),
    (Splitting, conformance.replicas_stay_in_bounds),
    (Splitting, conformance.need_is_kept),
    (PromisesTooMuch, conformance.need_is_kept),
    (SourcesDisagree, conformance.replicas_stay_in_bounds),
    (ComparesByIdentity, conformance.copies_route_alike),
    (FailsOnNothing, conformance.empty_input_is_fine),
]


@pytest.fixture(autouse=True)
def known_to_json(monkeypatch):
    """The JSON form finds a scheme by its name."""
    monkeypatch.setitem(ALL, "throw-away", Scheme)


@pytest.mark.parametrize("promise", conformance.PROMISES, ids=lambda promise: promise.__name__)
def test_a_good_scheme_passes(promise):
    promise(Scheme(), STREAM.copy())


@pytest.mark.parametrize(
    ("scheme", "promise"), BROKEN, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_broken_promise_is_found(monkeypatch, scheme, promise):
    monkeypatch.setitem(ALL, "throw-away", scheme)
    with pytest.raises((AssertionError, ValueError)):
        promise(scheme(), STREAM.copy())


def test_a_router_that_forgets_is_found():
    with pytest.raises(AssertionError):
        conformance.batches_do_not_change_the_route(Forgetful(), STREAM, cut=7)
