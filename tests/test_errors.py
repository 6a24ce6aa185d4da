"""Wrong, missing, huge and hostile input is refused by a typed error that names what is wrong."""

from __future__ import annotations

import contextlib
import dataclasses
import inspect

import numpy as np
import pytest

from unskew import aggregates, errors, rebalancing
from unskew.errors import ParameterError, ParameterTypeError, UnknownNameError, UnskewError
from unskew.hashing import hash_keys
from unskew.partitioners import ALL, PartialKey
from unskew.partitioners.serialization import from_json
from unskew.simulator.arrivals import Traffic
from unskew.simulator.cluster import Cluster
from unskew.simulator.counting import count
from unskew.sketches.space_saving import SpaceSaving
from unskew.workloads import FileStream, LogNormalStream, ZipfStream

NEEDED = {"workers": 4, "column": "x", "exponent": 1.0, "keys": 9, "messages": 9}
NEEDED |= {"mu": 1.0, "sigma": 1.0}
DESCRIBED = [*ALL.values(), *rebalancing.ALL.values(), *aggregates.ALL.values()]
DESCRIBED += [ZipfStream, LogNormalStream, Traffic]
NEVER = [object(), b"3", {}, 1j, np.zeros((2, 2)), 10**80, -(10**80)]
SOMETIMES = [0, -1, 1.5, float("nan"), float("inf"), "3", None, True, 2**31, [1], "x" * 99_999]


def fields():
    for kind in DESCRIBED:
        needed = {
            field.name: NEEDED[field.name]
            for field in dataclasses.fields(kind)
            if field.default is field.default_factory is dataclasses.MISSING
        }
        for field in dataclasses.fields(kind):
            if field.init:
                yield pytest.param(kind, needed, field.name, id=f"{kind.__name__}-{field.name}")


@pytest.mark.parametrize(("kind", "needed", "field"), list(fields()))
def test_a_field_is_right_or_refused(kind, needed, field):
    for value in NEVER:
        with pytest.raises(UnskewError, match=field):
            kind(**{**needed, field: value})
    for value in SOMETIMES:
        with contextlib.suppress(UnskewError):  # anything else is a failure
            kind(**{**needed, field: value})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PartialKey(workers="8"), "workers='8' is of type str, not a whole number"),
        (lambda: PartialKey(workers=8.0), "workers=8.0 is of type float"),
        (lambda: PartialKey(workers=True), "workers=True is of type bool"),
        (lambda: PartialKey(8, distinct="no"), "not True or False"),
        (lambda: ZipfStream(float("nan"), 9, 9), "exponent=nan is not a number"),
        (lambda: aggregates.TopK("x", k="10"), "k='10' is of type str"),
        (lambda: SpaceSaving(1.5), "capacity=1.5 is of type float"),
        (lambda: count(PartialKey(2), ZipfStream(1.0, 9, 9), sources=1.5), "sources=1.5"),
    ],
)
def test_a_wrong_type_is_a_type_error_too(call, message):
    with pytest.raises(ParameterTypeError, match=message) as refusal:
        call()
    assert isinstance(refusal.value, TypeError | ValueError)


@pytest.mark.parametrize(
    "call",
    [
        lambda: PartialKey(2**24 + 1),
        lambda: ZipfStream(1.0, 2**40, 9),
        lambda: ZipfStream(float("inf"), 9, 9),
        lambda: LogNormalStream(float("inf"), 1.0, 9),
        lambda: Traffic(seed=-1),
        lambda: count(PartialKey(2), ZipfStream(1.0, 9, 9), sources=10**9),
    ],
)
def test_what_no_machine_could_hold_is_refused_at_once(call):
    with pytest.raises(ParameterError):
        call()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "3x",
        "9x5",
        "1,2",
        "-1x2",
        "nanx5",
        "2xnan",
        "2xinf",
        "2x0",
        "2x-1",
        "1,nan,1",
        "equal@-1",
        "equal@x",
        "equal;2x5",
        "equal;2x5@0",
        "equal;equal@inf",
        "1e400,1,1",
    ],
)
def test_capacities_that_cannot_be_read(text):
    with pytest.raises(ParameterError):
        Cluster.parse(text, workers=3)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        "null",
        "\x00",
        "[" * 100000,
        '{"scheme": 1}',
        '{"scheme": "kg"}',
        None,
        '{"scheme": "kg", "workers": "x"}',
        '{"scheme": "kg", "workers": {}}',
        '{"scheme": "routing-table", "workers": 4, "keys": ["x"]}',
        '{"scheme": "planned-split", "workers": 4, "keys": [1], "starts": [5]}',
        3,
        '{"scheme": "kg", "workers": [4]}',
        '{"scheme": "routing-table", "workers": 4, "keys": [-1], "owners": [0]}',
        '{"scheme": "routing-table", "workers": 4, "keys": [1.5], "owners": [0]}',
        '{"scheme": "routing-table", "workers": 4, "keys": [true], "owners": [0]}',
        '{"scheme": "routing-table", "workers": 4, "keys": [[1], [2, 3]], "owners": [0]}',
        '{"scheme": "routing-table", "workers": 4, "base": 5}',
        '{"scheme": "routing-table", "workers": 4, "base": {"workers": 4}}',
        '{"scheme": "offline-greedy", "workers": 4, "counts": {"keys": 5, "counts": 3}}',
        '{"scheme": "offline-greedy", "workers": 4, "counts": {"keys": [5]}}',
        '{"scheme": "offline-greedy", "workers": 4, "counts": [[5, 1]]}',
        '{"scheme": "full-knowledge", "workers": 4, "factors": [' + "9" * 400 + "]}",
    ],
)
def test_partitioners_that_cannot_be_read(text):
    with pytest.raises(ParameterError):
        from_json(text)


@pytest.mark.parametrize("field", ["need", "chioces"])
def test_a_partitioner_with_an_unknown_field(field):
    with pytest.raises(UnknownNameError, match=f"no field of PartialKey '{field}'"):
        from_json(f'{{"scheme": "pkg", "workers": 4, "{field}": 3}}')


def test_our_own_bug_is_not_reported_as_a_wrong_document(monkeypatch):
    def fail(self):
        raise TypeError("a bug")

    monkeypatch.setattr(PartialKey, "__post_init__", fail)
    with pytest.raises(TypeError, match="a bug") as raised:
        from_json('{"scheme": "pkg", "workers": 4}')
    assert not isinstance(raised.value, UnskewError)


@pytest.mark.parametrize("keys", [None, 3, "abc", [[1, 2], [3]], [{}], [object()]])
def test_keys_that_cannot_be_hashed(keys):
    with pytest.raises(UnskewError):
        hash_keys(keys)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("empty.csv", b""),
        ("head.csv", b"key\n"),
        ("ragged.csv", b"key,b\n1\n1,2,3\n"),
        ("broken.parquet", b"PAR1garbage"),
        ("binary.csv", bytes(range(256))),
        ("other.csv", b"\xff\xfe,b\n1,2\n"),
    ],
)
def test_files_that_cannot_be_read(name, content, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UnskewError):
        FileStream(path, ("key",))


def test_a_folder_or_nothing_is_no_file(tmp_path):
    for path in (tmp_path, tmp_path / "nowhere.csv"):
        with pytest.raises(UnskewError, match=path.name):
            FileStream(path, ("key",))


def test_long_and_hostile_names_are_shown_short_and_harmless():
    said = str(
        UnknownNameError("column", "\x1b[31m" + "x" * 10**6, ["k\u202eey", *map(str, range(99))])
    )
    assert len(said) < 1000
    assert said.isprintable()
    assert "and 70 more" in said


def test_every_error_is_of_the_base_and_of_a_built_in():
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass)]
    own = [kind for kind in kinds if kind.__module__ == errors.__name__ and kind is not UnskewError]
    assert own
    for kind in own:
        assert issubclass(kind, UnskewError)
        built_in = [base for base in kind.__mro__ if base.__module__ == "builtins"]
        assert built_in[0] not in (Exception, object)
