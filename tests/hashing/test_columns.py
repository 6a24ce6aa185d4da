"""How a column lies in memory never changes a hash; what cannot be a key is refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unskew.errors import KeyTypeError, ParameterError
from unskew.hashing import hash_ids, hash_keys

PAIR = pa.struct({"a": pa.int32(), "b": pa.string()})
WORDS = ["", "a", None, "ab", "λ" * 20, "a", None, "x" * 100, "y", "ab"]
BYTES = [None if word is None else word.encode() for word in WORDS]
NUMBERS = [0, 1, None, 2, 100, 1, None, 7, 8, 2]
PAIRS = [None if n is None else {"a": n, "b": w} for n, w in zip(NUMBERS, WORDS, strict=True)]
LISTS = [[], None, [None], *([[word, "z"] for word in WORDS[:7]])]

COLUMNS = [
    pa.nulls(10),
    pa.array([n is None or n > 5 for n in NUMBERS]),
    pa.array(NUMBERS, pa.int8()),
    pa.array(NUMBERS, pa.int64()),
    pa.array(NUMBERS, pa.uint64()),
    pa.array(NUMBERS, pa.float64()),
    pa.array(NUMBERS, pa.decimal128(10)),
    pa.array(NUMBERS, pa.decimal128(30)),
    pa.array(NUMBERS, pa.date32()),
    pa.array(NUMBERS, pa.time32("s")),
    pa.array([None if n is None else (n, n, n) for n in NUMBERS], pa.month_day_nano_interval()),
    pa.array(WORDS),
    pa.array(BYTES),
    pa.array([None if word is None else word.ljust(100) for word in BYTES], pa.binary(100)),
    pa.array(PAIRS, PAIR),
    pa.array(LISTS),
    pa.array([words and words * 3 for words in LISTS], pa.large_list(pa.string())),
    pa.array([pair and [pair, None, pair] for pair in PAIRS], pa.list_(PAIR)),
]

columns = st.sampled_from(COLUMNS)
places = st.integers(0, 10)


def assert_same(hashes: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_array_equal(hashes, expected)


@given(column=columns, start=places, stop=places)
def test_a_slice_hashes_as_its_rows_do(column: pa.Array, start: int, stop: int) -> None:
    part = column.slice(start, max(stop - start, 0))
    assert_same(hash_keys(part), hash_keys(column)[start : start + len(part)])


@given(first=columns, second=columns, cuts=st.tuples(places, places))
def test_chunks_change_nothing(first: pa.Array, second: pa.Array, cuts: tuple[int, int]) -> None:
    """Columns of one table may be cut at different places."""
    chunked = [
        pa.chunked_array([column[:cut], column[:0], column[cut:]])
        for column, cut in zip((first, second), cuts, strict=True)
    ]
    expected = hash_keys([first, second])
    assert_same(hash_keys(chunked), expected)
    assert_same(hash_keys(pa.table(chunked, names=["a", "b"])), expected)
    assert_same(hash_keys(pa.record_batch([first, second], names=["a", "b"])), expected)


@given(first=columns, second=columns)
def test_a_struct_hashes_as_its_fields_do(first: pa.Array, second: pa.Array) -> None:
    together = pa.StructArray.from_arrays([first, second], names=["a", "b"])
    assert_same(hash_keys(together), hash_keys([first, second]))


@pytest.mark.parametrize(
    "encoded",
    [
        pa.array(WORDS, pa.large_string()),
        pa.array(WORDS, pa.string_view()),
        pa.array(BYTES, pa.binary_view()),
        pa.array(WORDS).dictionary_encode(),
        pa.array(WORDS).dictionary_encode(null_encoding="encode"),
        pc.run_end_encode(pa.array(WORDS)),
    ],
    ids=lambda array: str(array.type),
)
def test_encodings_change_nothing(encoded: pa.Array) -> None:
    assert_same(hash_keys(encoded), hash_keys(pa.array(WORDS)))
    assert_same(hash_keys(encoded[3:8]), hash_keys(pa.array(WORDS[3:8])))
    nested = pa.ListArray.from_arrays(pa.array([0, 3, 10]), encoded)
    assert_same(hash_keys(nested), hash_keys(pa.array([WORDS[:3], WORDS[3:]])))


@pytest.mark.parametrize(
    "of_type",
    [
        pa.list_(pa.string(), 2),
        pa.large_list(pa.string()),
        pa.list_view(pa.string()),
        pa.large_list_view(pa.string()),
    ],
    ids=str,
)
def test_kinds_of_lists_change_nothing(of_type: pa.DataType) -> None:
    lists = [["a", "bc"], None, [None, "λ"], ["", ""]]
    plain = pa.array(lists, pa.list_(pa.string()))
    assert_same(hash_keys(pa.array(lists, of_type)), hash_keys(plain))
    assert_same(hash_keys(pa.array(lists, of_type)[1:3]), hash_keys(plain[1:3]))


def test_what_lies_below_a_null_is_not_hashed() -> None:
    mask = pa.array([False, True])
    struct = pa.StructArray.from_arrays([pa.array([1, 2])], names=["a"], mask=mask)
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), pa.array([1, 2]), mask=mask)
    runs = pa.StructArray.from_arrays([pc.run_end_encode(pa.array([1, 2]))], names=["a"], mask=mask)
    for column in (struct, lists, runs):
        assert hash_keys(column).tolist() == [hash_ids(np.array([1]))[0], 42]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda array: str(array.type))
def test_no_rows(column: pa.Array) -> None:
    assert hash_keys(pa.array([], column.type)).size == 0
    assert hash_keys(pa.chunked_array([], column.type)).size == 0
    assert hash_keys(pa.nulls(2, column.type)).tolist() == [42, 42]


VARIANT = pa.struct(
    [
        pa.field("value", pa.binary()),
        pa.field("metadata", pa.binary(), metadata={"variant": "true"}),
    ]
)


@pytest.mark.parametrize(
    ("kind", "way_out"),
    [
        (pa.map_(pa.string(), pa.int32()), "map_entries"),
        (pa.float16(), "float32"),
        (VARIANT, "to_json"),
        (pa.uuid(), r"fixed_size_binary\[16\]"),
        (pa.dense_union([pa.field("a", pa.int32())]), "cast it to string"),
        (pa.decimal256(39, 0), "38 digits"),
        (pa.decimal128(5, -2), "scale"),
    ],
    ids=str,
)
def test_types_without_a_hash_are_refused(kind: pa.DataType, way_out: str) -> None:
    for key in (kind, pa.list_(kind), pa.struct({"a": pa.int32(), "b": kind})):
        with pytest.raises(KeyTypeError, match=way_out):
            hash_keys(pa.chunked_array([], key))


def test_a_dictionary_of_what_has_no_hash_is_refused() -> None:
    with pytest.raises(KeyTypeError, match="float32"):
        hash_keys(pa.chunked_array([], pa.dictionary(pa.int32(), pa.float16())))


@pytest.mark.parametrize("columns", [["a"], "a", pa.scalar(1), np.arange(3), None], ids=repr)
def test_only_arrow_columns_are_keys(columns: object) -> None:
    with pytest.raises(KeyTypeError, match=r"pyarrow\.array"):
        hash_keys(columns)


@pytest.mark.parametrize("columns", [[], [pa.array([1]), pa.array([1, 2])]], ids=["none", "uneven"])
def test_columns_of_one_length_make_a_key(columns: list[pa.Array]) -> None:
    with pytest.raises(ParameterError, match="of equal length"):
        hash_keys(columns)


def test_ids_may_be_narrow_but_not_fractions() -> None:
    assert_same(hash_ids(np.arange(-3, 3, dtype=np.int8)), hash_ids(np.arange(-3, 3)))
    for ids in (np.zeros(1), np.zeros(1, dtype=np.uint64)):
        with pytest.raises(KeyTypeError, match="int64"):
            hash_ids(ids)
