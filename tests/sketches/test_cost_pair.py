"""The twin matrices against exact counts and costs."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unskew.errors import ParameterError
from unskew.hashing import hash_ids
from unskew.kernels.cost_pair import cell
from unskew.sketches.cost_pair import CostPair, CostShape
from unskew.workloads import ZipfStream

SMALL = CostShape(epsilon=0.3, delta=0.1)

rows = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 100)), max_size=120)


def filled(pairs: list[tuple[int, int]], shape: CostShape = SMALL) -> CostPair:
    pair = CostPair(shape)
    keys = hash_ids(np.array([key for key, _ in pairs], dtype=np.int64))
    pair.add(keys, np.array([cost for _, cost in pairs], dtype=np.float64))
    return pair


def cells(pair: CostPair, key: np.uint64) -> list[int]:
    words, columns = pair.shape.words(), pair.shape.columns
    return [int(cell(key, row, words, columns)) for row in range(pair.shape.rows)]


def test_the_shape_follows_epsilon_and_delta():
    assert (CostShape(0.05, 0.1).rows, CostShape(0.05, 0.1).columns) == (4, 55)
    assert (CostShape(0.70, 0.25).rows, CostShape(0.70, 0.25).columns) == (2, 4)
    assert CostShape(0.001, 0.5).columns == 2719


@pytest.mark.parametrize(
    "shape", [{"epsilon": 0.0}, {"epsilon": 2.0}, {"delta": 1.0}, {"seed": -1}]
)
def test_impossible_shapes_are_refused(shape):
    with pytest.raises(ParameterError):
        CostShape(**shape)


def test_frequencies_stay_within_the_count_min_bounds():
    epsilon, delta = 0.01, 0.1
    ids = np.concatenate(list(ZipfStream(1.0, keys=2000, messages=20_000).ids()))
    keys, true = np.unique(ids, return_counts=True)
    hashes = hash_ids(keys)
    too_high = 0.0
    for seed in range(5):
        pair = CostPair(CostShape(epsilon, delta, seed))
        pair.add(hash_ids(ids), np.ones(ids.size))
        found = np.array(
            [min(pair.counts[r, c] for r, c in enumerate(cells(pair, key))) for key in hashes]
        )
        assert (found >= true).all()
        too_high += float((found - true > epsilon * (ids.size - true)).mean()) / 5
    assert too_high <= delta


def test_estimates_are_exact_where_cells_are_not_shared_and_between_the_extremes_elsewhere():
    costs = 1.0 + np.arange(40) % 7
    keys = hash_ids(np.arange(40))
    wide, narrow = CostPair(CostShape(epsilon=0.0005)), CostPair(CostShape(epsilon=0.5))
    for pair in (wide, narrow):
        pair.add(np.tile(keys, 3), np.tile(costs, 3))
    np.testing.assert_allclose(wide.estimate(keys), costs)
    assert ((narrow.estimate(keys) >= 1) & (narrow.estimate(keys) <= 7)).all()


def test_a_look_up_reads_the_row_with_the_fewest_others():
    pair = filled([(key, key) for key in range(31)])
    for number, key in enumerate(hash_ids(np.arange(31))):
        places = cells(pair, key)
        row = int(np.argmin([pair.counts[r, c] for r, c in enumerate(places)]))
        expected = pair.costs[row, places[row]] / pair.counts[row, places[row]]
        assert pair.estimate(np.array([key]))[0] == expected, number


def test_unseen_content_costs_the_mean_and_nothing_at_first():
    key = hash_ids(np.array([5]))
    assert CostPair().estimate(key).tolist() == [0.0]
    pair = CostPair(CostShape(epsilon=0.001))
    pair.add(hash_ids(np.array([1, 2])), np.array([4.0, 8.0]))
    assert pair.estimate(key).tolist() == [6.0]


def test_two_keys_rarely_share_a_cell():
    """2-universal: over the hash functions, the probability is at most 1/columns."""
    shape = [CostShape(epsilon=0.5, delta=0.001, seed=seed) for seed in range(300)]
    met = total = 0
    for each in shape:
        words = each.words()
        for left, right in ((0, 1), (1 << 32, 2 << 32), (3, 3 + (1 << 32))):
            for row in range(each.rows):
                met += cell(np.uint64(left), row, words, each.columns) == cell(
                    np.uint64(right), row, words, each.columns
                )
                total += 1
    expected = 1 / shape[0].columns
    assert met / total < expected + 4 * np.sqrt(expected / total)


@given(before=rows, after=rows)
def test_the_relative_error_counts_every_cell(before, after):
    pair = filled(before)
    snapshot = pair.snapshot()
    pair = pair.merge(filled(after))
    now = pair.snapshot()
    known = snapshot > 0
    moved, total = np.abs(snapshot - now)[known].sum(), snapshot.sum()
    expected = moved / total if total else 0.0
    assert pair.relative_error(snapshot) == pytest.approx(expected)


def test_a_move_in_any_single_cell_is_seen():
    pair = filled([(key, 10) for key in range(31)])
    snapshot = pair.snapshot()
    for row, column in np.argwhere(pair.counts > 0):
        changed = pair.copy()
        changed.costs[row, column] *= 2
        assert changed.relative_error(snapshot) > 0


@given(first=rows, second=rows, third=rows)
def test_merging_is_adding_in_any_order(first, second, third):
    a, b, c = filled(first), filled(second), filled(third)
    assert a.merge(b) == b.merge(a)
    assert a.merge(b).merge(c) == a.merge(b.merge(c)) == filled(first + second + third)


def test_pairs_that_hash_differently_do_not_merge():
    with pytest.raises(ParameterError, match="seed=2"):
        CostPair(CostShape(seed=1)).merge(CostPair(CostShape(seed=2)))


@given(pairs=rows)
def test_json_and_arrow_forms_return_the_same_pair(pairs):
    pair = filled(pairs)
    assert CostPair.from_json(pair.to_json()) == pair
    assert CostPair.from_arrow(pair.to_arrow()) == pair


def test_other_tables_are_not_taken_for_a_pair():
    with pytest.raises(ParameterError, match="to_arrow"):
        CostPair.from_arrow(pa.record_batch({"count": [1], "cost": [1.0]}))
    with pytest.raises(ParameterError, match="cells"):
        CostPair(SMALL, counts=np.zeros(3, dtype=np.int64))
