"""Statistics are checked before anything is planned."""

from __future__ import annotations

import numpy as np
import pytest

from unskew.errors import InputError, ParameterError, UnskewError
from unskew.partitioners import RoutingTable
from unskew.rebalancing import ALL, KeyStatistics
from unskew.rebalancing.discretisation import discretise


@pytest.mark.parametrize("wrong", [-1.0, float("nan"), float("inf")])
@pytest.mark.parametrize("column", ["cost", "memory", "frequency"])
def test_amounts_are_numbers_of_at_least_zero(column: str, wrong: float) -> None:
    columns = {"cost": [1.0, 2.0], column: [1.0, wrong]}
    with pytest.raises(InputError, match=column):
        KeyStatistics.of([1, 2], **columns)


def test_a_key_stands_once() -> None:
    with pytest.raises(InputError, match="key 7 occurs in two rows"):
        KeyStatistics.of([7, 1, 7], [1, 1, 1])


def test_columns_are_equally_long() -> None:
    with pytest.raises(InputError, match="cost has 1 rows where keys have 2"):
        KeyStatistics.of([1, 2], [1])


def test_keys_are_hashes() -> None:
    with pytest.raises(InputError, match="float64"):
        KeyStatistics.of(np.array([1.5]), [1])
    signed = np.array([-1], dtype=np.int64)
    assert KeyStatistics.of(signed, [1]).keys.tolist() == [2**64 - 1]
    assert KeyStatistics.of([2**64 - 1, 1], [1, 2]).cost.tolist() == [2.0, 1.0]


def test_a_window_needs_an_interval() -> None:
    with pytest.raises(InputError, match="window=0"):
        KeyStatistics.over([KeyStatistics.of([1], [1])], window=0)


def test_a_table_with_an_unknown_worker_is_refused() -> None:
    with pytest.raises(ParameterError, match="owners"):
        RoutingTable(2, np.array([1], dtype=np.uint64), np.array([2], dtype=np.int32))


@pytest.mark.parametrize(
    ("algorithm", "setting", "wrong"),
    [
        ("level", "theta", -0.1),
        ("level", "theta", float("nan")),
        ("mixed", "table", -1),
        ("mixed", "beta", -1.0),
        ("mintable", "r", 31),
        ("readj", "sigma", 0.0),
        ("readj", "utility", "best"),
        ("readj", "moves", 0),
        ("scan", "alpha", 1.0),
        ("redist", "state", "cubic"),
    ],
)
def test_settings_out_of_range_are_refused(algorithm: str, setting: str, wrong: object) -> None:
    with pytest.raises(UnskewError, match=setting):
        ALL[algorithm](**{setting: wrong})


def test_a_degree_is_a_power_of_two() -> None:
    with pytest.raises(ParameterError, match="degree=3"):
        discretise(np.ones(2), degree=3)
