import pytest

from unskew.errors import NeedError
from unskew.partitioners import (
    ConsistentGrouping,
    KeyGrouping,
    Need,
    PartialKey,
    Proactive,
    ShuffleGrouping,
)
from unskew.simulator.comparing import compare, legal


def row(scheme, level, replication):
    return {"scheme": scheme, "max_over_mean": level, "replication": replication}


def test_only_schemes_that_keep_the_promise_take_part() -> None:
    every = (KeyGrouping(4), PartialKey(4), ShuffleGrouping(4), Proactive(4))
    schemes = {p.scheme: p for p in every}
    assert list(legal(schemes, Need.WHOLE_KEY)) == ["kg"]
    assert list(legal(schemes, Need.MERGEABLE)) == ["kg", "pkg", "sg"]
    assert list(legal(schemes, Need.ANY_ROW)) == ["kg", "pkg", "sg", "posg"]


def test_no_legal_scheme_is_an_error() -> None:
    with pytest.raises(NeedError, match="whole-key"):
        legal({"cg": ConsistentGrouping(4)}, Need.WHOLE_KEY)


def test_the_level_one_with_the_fewest_replicas_is_best() -> None:
    found = [row("kg", 3.0, 1.0), row("sg", 1.0, 8.0), row("porc", 1.01, 1.4)]
    result = compare(found, timed=False)
    assert [each["scheme"] for each in result.rows] == ["porc", "sg", "kg"]
    assert result.advice.startswith("Take porc")
    assert "Plain hashing (kg) has 3" in result.advice


def test_doing_nothing_is_an_answer() -> None:
    result = compare([row("pkg", 1.0, 1.9), row("kg", 1.05, 1.0)], timed=False)
    assert result.best == "kg"
    assert "Plain hashing is as good as anything" in result.advice


def test_with_time_the_tail_of_the_latency_decides() -> None:
    found = [{**row("kg", 1.0, 1.0), "latency_p99": 80.0}, {**row("cg", 2, 2), "latency_p99": 2.0}]
    assert compare(found, timed=True).best == "cg"
