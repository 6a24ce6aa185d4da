"""A bucket of two sides is cut into the pairs of groups that Spark's cogroup would make of it."""

from __future__ import annotations

import math
import struct
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from unskew._spark.engine import buckets
from unskew._spark.engine.buckets import BucketSide, BucketTask
from unskew._spark.engine.calls import ArrowCall
from unskew._spark.engine.cutting import Limits
from unskew._spark.engine.numbering import numbered
from unskew._spark.engine.spark_rules import CallForm, WorkerSettings

OTHER_NAN = struct.unpack("<d", struct.pack("<Q", 0xFFF8000000000001))[0]
SCHEMA = StructType([StructField("n", LongType())])

SAME = {
    "null": (pa.int64(), None, None),
    "NaN": (pa.float64(), math.nan, OTHER_NAN),
    "zero": (pa.float32(), 0.0, -0.0),
    "decimal": (pa.decimal128(9, 3), Decimal("1.5"), Decimal("1.500")),
    "null in a struct": (pa.struct([("a", pa.int64())]), {"a": None}, {"a": None}),
    "zero in a struct": (pa.struct([("a", pa.float64())]), {"a": 0.0}, {"a": -0.0}),
    "zero in an array": (pa.list_(pa.float64()), [0.0, math.nan], [-0.0, math.nan]),
    "months": (pa.month_day_nano_interval(), (1, 2, 3), (1, 2, 3)),
    "nothing": (pa.null(), None, None),
}
DIFFERENT = {
    "null and zero": (pa.int64(), None, 0),
    "null and NaN": (pa.float64(), None, math.nan),
    "null and a struct of null": (pa.struct([("a", pa.int64())]), None, {"a": None}),
    "null and an empty string": (pa.string(), None, ""),
    "an array of null and an empty one": (pa.list_(pa.int64()), [None], []),
    "scales": (pa.decimal128(9, 3), Decimal("1.5"), Decimal("1.501")),
}


@pytest.mark.parametrize("case", SAME)
def test_values_that_spark_finds_equal_have_one_number(case):
    kind, first, second = SAME[case]
    assert numbered([pa.chunked_array([[first], [second]], kind)]).tolist() == [0, 0]


@pytest.mark.parametrize("case", DIFFERENT)
def test_values_that_spark_finds_different_have_two(case):
    kind, first, second = DIFFERENT[case]
    assert len(set(numbered([pa.chunked_array([[first, second]], kind)]).tolist())) == 2


words = st.none() | st.sampled_from("abc")
keys = st.lists(st.tuples(words, st.integers(0, 2)), max_size=25)


@given(left=keys, right=keys, most=st.sampled_from([0, 1, 3, 10_000]), alone=st.booleans())
def test_every_pair_of_groups_once_and_whole(left, right, most, alone):
    if not left and not right:
        return  # Spark sends no such bucket.
    seen = {}

    def see(key, here, there):
        key = tuple(value.as_py() for value in key)
        assert key not in seen
        assert here.column_names == ["word", "number", "row"]
        assert {*rows_of(here).values(), *rows_of(there).values()} == {key}
        seen[key] = list(rows_of(here)), list(rows_of(there))
        chunks = [len(chunk) for side in (here, there) for chunk in side["row"].chunks]
        assert most == 0 or max(chunks) <= most
        return pa.table({"n": [here.num_rows + there.num_rows]})

    with pytest.MonkeyPatch.context() as patch:
        if alone:  # As if the bucket had gigabytes.
            patch.setattr(buckets, "MOST_TAKEN", -1)
        results = task(see, most)(table(left, most), table(right, most))
    expected = {
        key: tuple([n for n, each in enumerate(side) if each == key] for side in (left, right))
        for key in {*left, *right}
    }
    assert seen == expected
    assert sum(results["r0"].to_pylist()) == len(left) + len(right)


def test_the_key_is_the_lefts_unless_it_has_none():
    kind = pa.float64()
    left = pa.table({"k": pa.array([-0.0], kind), "bucket": [1]})
    right = pa.table({"k": pa.array([0.0, math.inf], kind), "bucket": [1, 1]})
    signs = []

    def see(key, here, there):
        signs.append(math.copysign(1, key[0].as_py()))
        return pa.table({"n": [1]})

    side = BucketSide(("k",), (0,), (0,))
    BucketTask((side, side), task(see, 0).call)(left, right)
    assert signs == [-1, 1]


def test_sides_may_differ_in_what_can_be_null_inside():
    never = pa.struct([pa.field("a", pa.int64(), nullable=False)])
    maybe = pa.struct([pa.field("a", pa.int64())])
    left = pa.table({"k": pa.array([{"a": 1}], never)})
    right = pa.table({"k": pa.array([{"a": 1}, {"a": None}], maybe)})
    side = BucketSide(("k",), (0,), (0,))
    for tables in ((left, right), (right, left)):
        call = task(lambda _key, here, there: pa.table({"n": [here.num_rows]}), 0).call
        assert len(BucketTask((side, side), call)(*tables)) == 2


def test_results_have_the_types_of_the_schema():
    schema = StructType([StructField("same name", IntegerType()), StructField("n", LongType())])
    call = ArrowCall(
        lambda here, there: pa.table({"same name": pa.array([1], pa.int32()), "n": [2]}),
        CallForm(False, False),
        schema,
        settings(0),
    )
    side = BucketSide(("k",), (0,), (0,))
    [row] = BucketTask((side, side), call)(pa.table({"k": [1]}), pa.table({"k": [1]})).to_pylist()
    assert row == {"r0": 1, "r1": 2}


def settings(most):
    return WorkerSettings(True, "UTC", False, False, False, False, Limits(most))


def task(function, most):
    side = BucketSide(("word", "number", "row"), (0, 1), (0, 1))
    return BucketTask(
        (side, side), ArrowCall(function, CallForm(True, False), SCHEMA, settings(most))
    )


def table(keys, most):
    rows = pa.table(
        {
            "c0": pa.array([word for word, _ in keys], pa.string()),
            "c1": pa.array([number for _, number in keys], pa.int32()),
            "c2": pa.array(range(len(keys)), pa.int64()),
            "bucket": pa.array([7] * len(keys), pa.int32()),
        }
    )
    batches = rows.to_batches(max_chunksize=most or None)
    return pa.Table.from_batches(batches, schema=rows.schema)


def rows_of(rows):
    return {row["row"]: (row["word"], row["number"]) for row in rows.to_pylist()}
