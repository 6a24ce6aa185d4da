"""What every partitioner promises, as plain functions that raise AssertionError.

They are functions, and not tests, so that the suite itself can be tested: each must fail on a
router that breaks its promise (test_conformance_suite.py).
"""

from __future__ import annotations

import pickle

import numpy as np

from unskew.partitioners.contract import KeyHashes, Need, Partitioner
from unskew.partitioners.serialization import from_json, to_json


def worker_ids_are_valid(partitioner: Partitioner, stream: KeyHashes) -> None:
    workers = partitioner.router().route(stream)
    assert workers.shape == stream.shape
    assert workers.dtype == np.int32
    assert ((workers >= 0) & (workers < partitioner.workers)).all()


def batches_do_not_change_the_route(partitioner: Partitioner, stream: KeyHashes, cut: int) -> None:
    router = partitioner.router()
    batched = np.concatenate([router.route(stream[:cut]), router.route(stream[cut:])])
    np.testing.assert_array_equal(batched, partitioner.router().route(stream))


def routes_repeat(partitioner: Partitioner, stream: KeyHashes) -> None:
    for source in (0, 1):
        first, again = (partitioner.router(source, 2).route(stream) for _ in range(2))
        np.testing.assert_array_equal(first, again)


def keys_are_left_alone(partitioner: Partitioner, stream: KeyHashes) -> None:
    before = stream.copy()
    partitioner.router().route(stream)
    np.testing.assert_array_equal(stream, before)


def replicas_stay_in_bounds(partitioner: Partitioner, stream: KeyHashes) -> None:
    """Over all sources: three that share nothing, or one that stands for all."""
    sources = 1 if partitioner.coordinated else 3
    parts = [stream[source::sources] for source in range(sources)]
    routes = [partitioner.router(s, sources).route(part) for s, part in enumerate(parts)]
    pairs = {
        pair
        for part, workers in zip(parts, routes, strict=True)
        for pair in zip(part.tolist(), workers.tolist(), strict=True)
    }
    _, replicas = np.unique([key for key, _ in pairs], return_counts=True)
    assert replicas.size == 0 or replicas.max() <= partitioner.max_replicas


def need_is_kept(partitioner: Partitioner, stream: KeyHashes) -> None:
    """A scheme that promises whole keys may have one replica of each, and does."""
    assert partitioner.need in Need
    assert 1 <= partitioner.max_replicas <= partitioner.workers
    if partitioner.need is Need.WHOLE_KEY:
        assert partitioner.max_replicas == 1
        replicas_stay_in_bounds(partitioner, stream)


def copies_route_alike(partitioner: Partitioner, stream: KeyHashes) -> None:
    for copy in (pickle.loads(pickle.dumps(partitioner)), from_json(to_json(partitioner))):
        assert copy == partitioner
        assert hash(copy) == hash(partitioner)
        np.testing.assert_array_equal(
            copy.router().route(stream), partitioner.router().route(stream)
        )


def empty_input_is_fine(partitioner: Partitioner, stream: KeyHashes) -> None:
    router = partitioner.router()
    assert router.route(stream[:0]).shape == (0,)
    np.testing.assert_array_equal(router.route(stream), partitioner.router().route(stream))


def static_routes_are_the_routers(partitioner: Partitioner, stream: KeyHashes) -> None:
    """Where a scheme is plain data: whole keys by the letter, cut keys by workers and shares."""
    static, cut = partitioner.static, partitioner.cut
    if static is None:
        assert (cut is not None) == (partitioner.max_replicas == 1)
        return
    assert cut is not None
    assert (cut.size == 0) == (partitioner.max_replicas == 1)
    whole = stream[~np.isin(stream, cut)]
    for source in (0, 1):
        routes = partitioner.router(source, 2).route(whole)
        for draw in (0, 2**32 - 1):
            draws = np.full(whole.size, draw, dtype=np.uint64)
            np.testing.assert_array_equal(static.route(whole, draws), routes)
    for key in np.intersect1d(cut, stream):
        _check_shares(partitioner, key)


def _check_shares(partitioner: Partitioner, key: np.uint64, rows: int = 2000) -> None:
    static = partitioner.static
    assert static is not None
    entry = np.searchsorted(static.table.keys, key)
    part = slice(static.table.starts[entry], static.table.starts[entry + 1])
    shares = np.zeros(partitioner.workers)
    np.add.at(shares, static.table.owners[part], static.table.shares[part])
    same = np.full(rows, key)
    draws = np.arange(rows, dtype=np.uint64) * np.uint64(2**32 // rows)
    for routes in (partitioner.router().route(same), static.route(same, draws)):
        counts = np.bincount(routes, minlength=partitioner.workers)
        assert set(np.flatnonzero(counts)) <= set(static.table.owners[part].tolist())
        # Draws are evenly spread, but a worker's part may lie in as many pieces as it has aliases.
        np.testing.assert_allclose(counts, shares * rows, atol=0.02 * rows)


PROMISES = (
    worker_ids_are_valid,
    routes_repeat,
    keys_are_left_alone,
    replicas_stay_in_bounds,
    need_is_kept,
    copies_route_alike,
    empty_input_is_fine,
    static_routes_are_the_routers,
)
