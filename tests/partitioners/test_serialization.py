from __future__ import annotations

import pytest

from unskew.errors import ParameterError, UnknownNameError
from unskew.partitioners import PartialKey, TwoRandomChoices, WChoices
from unskew.partitioners.serialization import build, from_json


def test_settings_are_read_by_type():
    assert build(
        "pkg", 8, {"choices": "3", "estimate": "global", "distinct": "false"}
    ) == PartialKey(8, choices=3, estimate="global", distinct=False)
    assert build("w-choices", 8, {"threshold": "0.1"}) == WChoices(8, threshold=0.1)
    assert build("two-random-choices", 8, {"seed": "7"}) == TwoRandomChoices(8, seed=7)


@pytest.mark.parametrize(
    ("scheme", "settings", "message"),
    [
        ("pkg", {"choices": "two"}, "choices='two' cannot be read as a whole number"),
        ("pkg", {"distinct": "1"}, "distinct='1' cannot be read as true or false"),
        ("offline-greedy", {"counts": "5"}, "set it from Python"),
    ],
)
def test_unreadable_settings(scheme, settings, message):
    with pytest.raises(ParameterError, match=message):
        build(scheme, 8, settings)


def test_unknown_names_come_with_a_hint():
    with pytest.raises(UnknownNameError, match="did you mean 'pkg'"):
        build("pgk", 8)
    with pytest.raises(UnknownNameError, match="no setting of pkg 'choises'; did you mean"):
        build("pkg", 8, {"choises": "2"})


@pytest.mark.parametrize("text", ["[]", "{}", '{"scheme": 3}'])
def test_other_json_is_refused(text):
    with pytest.raises(ParameterError, match="JSON object with a scheme"):
        from_json(text)
