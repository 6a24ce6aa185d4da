"""Work records: sums by key in bounded space, and as bytes that nobody can abuse."""

from __future__ import annotations

import hashlib
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from unskew._spark.planning.cost_model import FunctionCost
from unskew._spark.planning.machine import Machine
from unskew._spark.planning.record_bytes import VERSION, from_bytes, sealed, to_bytes
from unskew._spark.planning.remembered_work import cost_of, profile_of, work_of
from unskew._spark.planning.settings import PlanSettings
from unskew._spark.planning.ways import Job
from unskew._spark.planning.work_record import MOST_KEYS, RANGES, WorkRecord
from unskew._spark.routing.native import fits_table
from unskew.errors import InputError
from unskew.partitioners import KeyGrouping
from unskew.partitioners.split_planning import plan_split, planned_loads

calls = st.lists(
    st.tuples(
        st.sampled_from([0, 7, 2**54, 2**63, 2**64 - 1]) | st.integers(0, 2**64 - 1),
        st.integers(0, 1000),
        st.integers(0, 1000),
    ),
    max_size=60,
)


def arrays(found):
    keys, rows, seconds = zip(*found, strict=True) if found else ((), (), ())
    # Eighths of a second add up exactly in any order.
    return (
        np.array(keys, dtype=np.uint64),
        np.array(rows, dtype=np.int64),
        np.array(seconds, dtype=np.float64) / 8,
    )


def many(size, seed=1):
    random = np.random.default_rng(seed)
    keys = random.integers(0, 2**64, size, dtype=np.uint64)
    return keys, random.integers(1, 100, size), random.integers(1, 1000, size) / 8


@given(calls)
def test_sums_are_those_of_the_calls_of_each_key(found):
    record = WorkRecord.of(*arrays(found))
    wanted: dict[int, list[float]] = {}
    for key, rows, seconds in found:
        sums = wanted.setdefault(key, [0, 0.0, 0])
        sums[0] += rows
        sums[1] += seconds / 8
        sums[2] += 1
    sums = zip(record.key_rows, record.key_seconds, record.key_calls, strict=True)
    assert dict(zip(record.keys.tolist(), map(list, sums), strict=True)) == wanted
    assert record.rows == sum(rows for _, rows, _ in found)
    assert record.seconds == sum(seconds for _, _, seconds in found) / 8
    assert record.calls == len(found)


@given(st.lists(calls, max_size=4))
def test_records_merged_are_one_record_of_all_calls(parts):
    merged = WorkRecord.merged(WorkRecord.of(*arrays(part)) for part in parts)
    assert merged == WorkRecord.of(*arrays([call for part in parts for call in part]))


@given(st.lists(calls, min_size=1, max_size=4), st.integers(0, 5))
def test_nothing_is_lost_where_few_keys_are_named(parts, most):
    records = [WorkRecord.of(*arrays(part), most=most) for part in parts]
    merged = WorkRecord.merged(records, most)
    assert merged.keys.size <= most
    for measure in ("rows", "calls", "seconds"):
        assert getattr(merged, measure) == sum(getattr(each, measure) for each in records)


def test_the_heaviest_keys_by_seconds_or_rows_are_named():
    keys, rows, seconds = many(10_000)
    rows[17], seconds[4321] = 10_000_000, 1e6
    record = WorkRecord.of(keys, rows, seconds)
    assert record.keys.size == MOST_KEYS
    assert {int(keys[17]), int(keys[4321])} == set(record.keys[:2].tolist())
    assert record.rest_calls.sum() == 10_000 - MOST_KEYS
    small = WorkRecord.of(keys, rows, seconds, most=2)
    assert set(small.keys.tolist()) == {int(keys[17]), int(keys[4321])}


def test_fingerprints_that_differ_are_none():
    one, two = WorkRecord.none("a"), WorkRecord.none("b")
    assert WorkRecord.merged([one, one]).fingerprint == "a"
    assert WorkRecord.merged([one, two]).fingerprint == ""


@pytest.mark.parametrize("measure", ["rows", "seconds"])
def test_ranges_add_up_to_the_loads_of_key_grouping(measure):
    keys, rows, seconds = many(50_000)
    values = {"rows": rows, "seconds": seconds}[measure]
    record = WorkRecord.of(keys, rows, seconds, most=100)
    named = np.isin(keys, record.keys)
    heaviest = np.bincount((keys[~named] >> np.uint64(54)).astype(int), values[~named]).max()
    for workers in (*range(1, 101), 1024, 3000):
        found = record.weights(workers, measure)
        owners = KeyGrouping(workers).router().route(keys[~named])
        wanted = np.bincount(owners, values[~named], minlength=workers)
        # A range that lies across a border of workers is shared out; all others are exact.
        error = 1e-6 if RANGES % workers == 0 else 2 * heaviest
        np.testing.assert_allclose(found.rest, wanted, rtol=0, atol=error)
        assert found.rest.sum() == pytest.approx(wanted.sum())


def test_a_plan_takes_the_weights():
    keys, rows, seconds = many(5000)
    seconds[3] = seconds.sum()
    weights = WorkRecord.of(keys, rows, seconds).weights(8)
    plan = plan_split(*weights)
    loads = planned_loads(plan, *weights)
    assert loads.max() / loads.mean() < 1.01


@given(calls, st.integers(0, 5), st.text(max_size=9))
def test_bytes_give_the_record_back(found, most, fingerprint):
    fingerprint = fingerprint.encode("utf-8", "replace").decode()
    record = WorkRecord.of(*arrays(found), most=most, fingerprint=fingerprint)
    assert from_bytes(to_bytes(record)) == record


def test_a_full_record_is_small():
    assert len(to_bytes(WorkRecord.of(*many(100_000)))) < 200_000


SMALL = to_bytes(WorkRecord.of(*many(4), most=2, fingerprint="f"))


@pytest.mark.parametrize("place", range(len(SMALL)))
def test_every_changed_byte_is_noticed(place):
    for flipped in (0x01, 0x80, 0xFF):
        damaged = bytearray(SMALL)
        damaged[place] ^= flipped
        with pytest.raises(InputError):
            from_bytes(bytes(damaged))


def test_every_truncation_and_extension_is_noticed():
    for size in range(len(SMALL)):
        with pytest.raises(InputError):
            from_bytes(SMALL[:size])
    with pytest.raises(InputError, match="bytes instead of"):
        from_bytes(SMALL + b"x")


@given(st.binary(max_size=200))
def test_whatever_stands_behind_a_right_checksum_is_checked(body):
    try:
        record = from_bytes(sealed(body))
    except InputError:
        return
    assert record.rows >= 0


def hostile(keys=(), rest=()):
    parts = [struct.pack("<HHHdddI", 0, len(keys), len(rest), 0.0, 0.0, 0.0, 0)]
    parts += [struct.pack("<Qqdq", *each) for each in keys]
    parts += [struct.pack("<Hqdq", *each) for each in rest]
    return sealed(b"".join(parts))


@pytest.mark.parametrize(
    "content",
    [
        hostile([(1, -1, 0.0, 1)]),
        hostile([(1, 1 << 62, 0.0, 1)]),
        hostile([(1, 1, 0.0, 1 << 40)]),
        hostile([(1, 1, 0.0, 0)]),
        hostile(rest=[(3, 0, 1.0, 0)]),
        hostile([(1, 1, float("nan"), 1)]),
        hostile([(1, 1, float("inf"), 1)]),
        hostile([(1, 1, -1.0, 1)]),
        hostile([(1, 1, 1.0, 1), (1, 1, 1.0, 1)]),
        hostile(rest=[(1024, 1, 1.0, 1)]),
        hostile(rest=[(3, 1, 1.0, 1), (3, 1, 1.0, 1)]),
        hostile([(key, 1, 1.0, 1) for key in range(MOST_KEYS + 1)]),
        b"PAR1" + bytes(100),
        b"",
    ],
)
def test_hostile_values_are_refused(content):
    with pytest.raises(InputError):
        from_bytes(content)


def test_values_that_are_not_hostile_are_read():
    record = from_bytes(hostile([(1, 2, 0.5, 1)], [(3, 4, 0.0, 2)]))
    assert (record.rows, record.seconds, record.calls) == (6, 0.5, 3)


_numbers = st.tuples(
    st.integers(0, 1 << 39), st.floats(0, 1 << 39), st.integers(1, 1 << 39)
) | st.tuples(st.integers(0, 9), st.floats(0, 9), st.integers(1, 3))


@given(
    st.dictionaries(st.integers(0, 2**64 - 1), _numbers, max_size=5),
    st.dictionaries(st.integers(0, RANGES - 1), _numbers, max_size=5),
    st.booleans(),
)
def test_whatever_is_read_can_be_planned_with(keys, rest, merges):
    record = from_bytes(
        hostile([(key, *n) for key, n in keys.items()], [(at, *n) for at, n in rest.items()])
    )
    if not record.rows or not fits_table(record.keys):
        return
    cost, work = cost_of(record), work_of(record, 64)
    assert profile_of(record, 64).rows == record.rows
    merge = FunctionCost(cost.per_call, 0.0) if merges else None
    job = Job(Machine(8, 8), work, cost, merge, 16, 16.0, None, 200, PlanSettings())
    assert all(0 <= way.seconds < float("inf") for way in job.ways())


def test_another_version_is_told_apart():
    body = SMALL[56:]
    checksum = hashlib.sha256(body).digest()
    for other in (VERSION - 1, VERSION + 1):
        with pytest.raises(InputError, match=f"version {other}"):
            from_bytes(struct.pack("<18sHI32s", SMALL[:18], other, len(body), checksum) + body)


def test_what_a_merge_takes_is_kept_with_the_work():
    record = WorkRecord.none("f", (0.25, 0.5))
    both = WorkRecord.merged([record, WorkRecord.none("f")])
    assert from_bytes(to_bytes(both)).merging == (0.25, 0.5)
    body = SMALL[56:]
    damaged = body[:6] + struct.pack("<d", -1.0) + body[14:]
    with pytest.raises(InputError, match="its merges take"):
        from_bytes(sealed(damaged))


def test_ranges_are_added_up_no_more_than_they_must_be():
    keys = np.arange(100, 140, dtype=np.uint64) << np.uint64(54)
    ones = np.ones(40, dtype=np.int64)
    record = WorkRecord.of(keys, ones, np.ones(40), most=0)
    few = record.in_ranges_of(20, turn=3)
    assert np.count_nonzero(few.rest_calls) == 20
    assert (few.rows, few.calls, few.seconds) == (40, 40, 40.0)
    assert record.in_ranges_of(40, turn=3) is record
