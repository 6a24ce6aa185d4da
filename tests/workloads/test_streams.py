from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from unskew.errors import InputError, KeyTypeError, ParameterError, UnknownNameError
from unskew.hashing import hash_ids, hash_keys
from unskew.workloads import FileStream, LogNormalStream, ZipfStream, zipf_probabilities


def ids(stream):
    return np.concatenate(list(stream.ids()))


def hashes(stream):
    return np.concatenate(list(stream.chunks()))


@pytest.mark.parametrize("exponent", [0.0, 0.8, 1.0, 2.0])
def test_zipf_ranks_are_what_searching_the_cumulated_probabilities_gives(exponent):
    stream = ZipfStream(exponent, keys=1000, messages=100_000)
    uniform = np.random.default_rng([42, round(1000 * exponent), 100_000]).random(100_000)
    cumulated = np.cumsum(zipf_probabilities(exponent, 1000))
    expected = np.minimum(np.searchsorted(cumulated, uniform, side="right"), 999)
    np.testing.assert_array_equal(ids(stream), expected)


def test_zipf_frequencies():
    counts = np.bincount(ids(ZipfStream(1.0, keys=100, messages=200_000)), minlength=100)
    np.testing.assert_allclose(counts[:5] / 200_000, zipf_probabilities(1.0, 100)[:5], rtol=0.02)


def test_log_normal_keys_are_those_of_the_paper():
    """Partial Key Grouping, Table 1: LN2 has 1.1k keys (in 10M draws) and p1 = 7.01 %."""
    keys, counts = np.unique(ids(LogNormalStream(2.245, 1.133, 2_000_000)), return_counts=True)
    assert counts.max() / 2_000_000 == pytest.approx(0.0701, abs=0.001)
    assert 700 < keys.size < 1200


@pytest.mark.parametrize("stream", [ZipfStream(1.0, 50, 1000), LogNormalStream(1, 1, 1000)])
def test_streams_repeat_and_hash_their_ids(stream):
    np.testing.assert_array_equal(ids(stream), ids(stream))
    np.testing.assert_array_equal(hashes(stream), hash_ids(ids(stream)))


def test_another_seed_is_another_stream():
    assert (ids(ZipfStream(1.0, 50, 1000)) != ids(ZipfStream(1.0, 50, 1000, seed=1))).any()


@pytest.mark.parametrize(
    ("name", "value"), [("exponent", -1), ("keys", 0), ("messages", -1), ("seed", -1)]
)
def test_bad_parameters_are_refused(name, value):
    fields = {"exponent": 1.0, "keys": 10, "messages": 10, name: value}
    with pytest.raises(ParameterError, match=f"{name}={value} must be at least"):
        ZipfStream(**fields)


TABLE = pa.table(
    {
        "word": ["a", None, "b", "a"],
        "n": pa.array([1, 2, 3, None], pa.int32()),
        "price": pa.array([Decimal("1.10"), Decimal("2.20"), None, Decimal("1.10")]),
    }
)


@pytest.fixture
def parquet(tmp_path):
    pq.write_table(TABLE, tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


@pytest.mark.parametrize("key", [("word",), ("n",), ("price",), ("word", "n")])
def test_parquet_keys_of_any_type(parquet, key):
    stream = FileStream(parquet, key)
    assert stream.messages == 4
    np.testing.assert_array_equal(hashes(stream), hash_keys([TABLE[name] for name in key]))


def test_a_null_is_a_key_like_any_other(parquet):
    found = hashes(FileStream(parquet, ("word",)))
    assert np.unique(found).size == 3


def test_csv(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("word,n\na,1\nb,2\na,3\n")
    stream = FileStream(path, ("word",))
    assert stream.messages == 3
    np.testing.assert_array_equal(hashes(stream), hash_keys(pa.array(["a", "b", "a"])))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"word,n\n", "has no rows"),
        (b"PAR1 and then nonsense", "damaged Parquet"),
        (b"\x7fELF\0\0\0", "neither Parquet nor CSV"),
        (b"word,n\na,1\nb,2,3\n", "neither Parquet nor a readable CSV file"),
    ],
)
def test_bad_files_are_refused(tmp_path, content, message):
    path = tmp_path / "bad"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        hashes(FileStream(path, ("word",)))


def test_missing_file_and_column(tmp_path, parquet):
    with pytest.raises(InputError, match="cannot read"):
        FileStream(tmp_path / "nowhere", ("word",))
    with pytest.raises(UnknownNameError, match=r"no column in rows.parquet 'wrod'; did you mean"):
        FileStream(parquet, ("wrod",))
    with pytest.raises(InputError, match=r"no key column given; rows.parquet has word, n, price"):
        FileStream(parquet, ())


def test_unhashable_keys_are_refused(tmp_path):
    path = tmp_path / "maps.parquet"
    pq.write_table(pa.table({"m": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int32()))}), path)
    with pytest.raises(KeyTypeError, match="map"):
        hashes(FileStream(path, ("m",)))
