"""Every setting of every scheme changes routes, or only what routers make of workers' reports."""

from __future__ import annotations

import numpy as np
import pytest

from unskew.errors import NeedError, ParameterError, UnknownNameError
from unskew.partitioners import PartialKey, Proactive, check_legal
from unskew.partitioners.serialization import build
from unskew.partitioners.settings import (
    changed_settings,
    check_independent,
    check_without_feedback,
    described,
)

pytest.importorskip("pyspark")  # for the tool that knows another value of every setting

from tests.documents import tool

TABLE = tool("scheme_settings")
EXAMPLES = list(TABLE.examples())
BOUNDS = {("routing-table", "max_entries")}
"""Settings that refuse a table and change none."""


@pytest.fixture(scope="module")
def stream():
    random = np.random.default_rng(5)
    keys = random.integers(0, 2**64, 3_000, dtype=np.uint64)
    keys[:3] = [2**8, 2**62, 2**63]
    drawn = keys[np.minimum(random.zipf(1.2, 250_000) - 1, keys.size - 1)]
    return np.concatenate([drawn, np.repeat(keys[:1], 100)])


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda each: f"{each.scheme} {each.shown}")
def test_a_setting_changes_routes_unless_it_needs_reports(example, stream):
    changed, usual = example.partitioner, described(example.scheme, TABLE.WORKERS, {})
    assert set(changed_settings(changed)) >= set(example.given) - {"counts"}
    same = np.array_equal(changed.router().route(stream), usual.router().route(stream))
    asks = changed.report_every is not None or changed.coordinated != usual.coordinated
    needs_reports = example.setting in changed.feedback_settings or asks
    assert same == (needs_reports or (example.scheme, example.setting) in BOUNDS)


def test_settings_are_named_as_the_class_names_them():
    assert described("pkg", 8, {"choices": 5}) == PartialKey(8, choices=5)
    assert changed_settings(PartialKey(8, choices=5, distinct=True)) == {"choices": 5}
    with pytest.raises(UnknownNameError, match=r"no setting of pkg 'choice'; did you mean"):
        described("pkg", 8, {"choice": 5})
    with pytest.raises(UnknownNameError, match="no setting of pkg 'workers'"):
        described("pkg", 8, {"workers": 5})
    with pytest.raises(ParameterError, match=r"choices=9 is not in 1\.\.workers=8"):
        described("pkg", 8, {"choices": 9})


def test_arrays_are_numbers_with_commas_on_the_command_line():
    weighted = build("weighted-kg", 3, {"owners": "2,0", "arcs": "1,3"})
    assert weighted.arcs.tolist() == [1, 3]
    with pytest.raises(ParameterError, match=r"owners='2,x' cannot be read as numbers such as"):
        build("weighted-kg", 3, {"owners": "2,x"})


def test_what_needs_others_is_refused_with_the_way_out():
    check_independent(PartialKey(8, choices=5))
    with pytest.raises(NeedError, match=r"estimate='global' of pkg .* use estimate='local'"):
        check_independent(PartialKey(8, estimate="global"))
    with pytest.raises(NeedError, match=r"estimate='probing' of pkg needs the workers to report"):
        check_independent(PartialKey(8, estimate="probing", period=10))
    with pytest.raises(NeedError, match=r"online-greedy needs one router .* without it: kg, ring"):
        check_independent(described("online-greedy", 8, {}))
    with pytest.raises(ParameterError, match=r"window=5 of posg .*; ask elsewhere"):
        check_without_feedback(Proactive(8, window=5), "ask elsewhere")


def test_settings_may_make_a_scheme_legal():
    check_legal(PartialKey(8, choices=1), "whole-key")
    with pytest.raises(NeedError, match="pkg does not guarantee whole-key; these schemes do: kg"):
        check_legal(PartialKey(8, choices=2), "whole-key")
