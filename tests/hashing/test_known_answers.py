"""Answers that Spark 4.3 gave once, so that the hash is checked without Spark too."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from unskew.hashing import hash_ids, hash_keys

A_MOMENT = dt.datetime(2026, 1, 2, 3, 4, 5, 678901)
PAIR = pa.struct({"a": pa.int32(), "b": pa.string()})

KNOWN = [
    (True, pa.bool_(), -6698625589789238999),
    (False, pa.bool_(), 3614696996920510707),
    (-1, pa.int8(), 2017008487422258757),
    (300, pa.int16(), 4595878464234128934),
    (-1, pa.int32(), 2017008487422258757),
    (1, pa.int32(), -6698625589789238999),
    (-1, pa.int64(), 3858142552250413010),
    (1, pa.int64(), -7001672635703045582),
    (200, pa.uint8(), -7375957583963657938),
    (200, pa.uint16(), -7375957583963657938),
    (200, pa.uint32(), -1244884446866925109),
    (200, pa.uint64(), -3989117803985129182),
    (-0.0, pa.float32(), 3614696996920510707),
    (float("nan"), pa.float32(), 2692338816207849720),
    (1.5, pa.float32(), 6163473420726370430),
    (-0.0, pa.float64(), -5252525462095825812),
    (float("nan"), pa.float64(), -3127944061524951246),
    (-1.5, pa.float64(), -1519168156472177911),
    (Decimal("1"), pa.decimal32(5, 2), 8713583529807266080),
    (Decimal("1"), pa.decimal64(5, 2), 8713583529807266080),
    (Decimal("-12.34"), pa.decimal128(4, 2), -1614697014534150208),
    (Decimal("12.34"), pa.decimal128(19, 2), 804797035677707363),
    (Decimal("-1.28"), pa.decimal128(38, 2), -7898411661632158123),
    (Decimal("-1.29"), pa.decimal256(38, 2), -6459515886037897956),
    (Decimal("170141183460469231731687303715884105"), pa.decimal128(38, 0), 4480936310718385259),
    (dt.date(1969, 12, 31), pa.date32(), 2017008487422258757),
    (dt.date(1969, 12, 31), pa.date64(), 2017008487422258757),
    (A_MOMENT, pa.timestamp("us", "UTC"), 4063437146645743038),
    (A_MOMENT, pa.timestamp("ns"), 4063437146645743038),
    (-1500, pa.timestamp("ns"), 7059853439729830566),
    (-1500, pa.timestamp("ms"), -804741576078636277),
    (-1500, pa.timestamp("s"), 6225502142135982921),
    (93_784_500_000, pa.duration("us"), -5867921652851782348),
    (dt.time(12, 34, 56, 789000), pa.time64("ns"), 3761060651865760818),
    (dt.time(12, 34, 56, 789000), pa.time32("ms"), 3761060651865760818),
    ((14, 4, 18_367_500_000_000), pa.month_day_nano_interval(), -2050623265533463081),
    ("", pa.string(), -7444071767201028348),
    ("a", pa.string(), -8582455328737087284),
    ("Grüße, 世界 😀", pa.string(), 9147107139824479831),
    ("unskewed" * 4, pa.string(), -6897864561886616413),
    ("unskewed" * 12 + "!?-", pa.string(), -6269010814339296010),
    (b"\x00\xff", pa.binary(), 879945414100663330),
    (b"abc", pa.binary(3), 1423657621850124518),
    (None, pa.string(), 42),
    (None, pa.null(), 42),
    ([1, None, 2], pa.list_(pa.int32()), -8133857028838179022),
    ([], pa.list_(pa.int32()), 42),
    ({"a": 1, "b": "x"}, PAIR, 8510603489595372987),
    (
        {"a": None, "b": ["x", ""]},
        pa.struct({"a": pa.int32(), "b": pa.list_(pa.string())}),
        -817586847176701807,
    ),
    ([{"a": 1, "b": "x"}, None, {"a": 2, "b": "y"}], pa.list_(PAIR), 5306553143112299159),
]


def signed(hashes: np.ndarray) -> list[int]:
    return hashes.view(np.int64).tolist()


@pytest.mark.parametrize(("value", "kind", "answer"), KNOWN, ids=str)
def test_spark_gave_this_hash(value: object, kind: pa.DataType, answer: int) -> None:
    assert signed(hash_keys(pa.array([value, None, value], kind))) == [answer, 42, answer]


def test_strings_of_0_to_100_bytes() -> None:
    """One number for all lengths: the strings are an array, whose elements' hashes chain."""
    prefixes = [("0123456789" * 10)[:length] for length in range(101)]
    assert signed(hash_keys(pa.array([prefixes]))) == [-8080264091918912768]


def test_several_columns_chain_and_skip_nulls() -> None:
    word, one = pa.array(["spark", None]), pa.array([1, 1])
    assert signed(hash_keys([word, one])) == [341794143646611586, -7001672635703045582]
    assert signed(hash_keys([one, word])) == [-5217098758864974530, -7001672635703045582]


def test_ids_are_bigint() -> None:
    assert signed(hash_ids(np.array([0, 1, -1]))) == [
        -5252525462095825812,
        -7001672635703045582,
        3858142552250413010,
    ]
