"""Query 5 over a sliding window is SQL's on whole tables; its events are skewed and change."""

from __future__ import annotations

import datetime
import os
from collections import Counter
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from unskew.errors import InputError, SessionError
from unskew_lab.apps import tpch_data
from unskew_lab.apps import tpch_q5 as app
from unskew_lab.apps.keyed_state import SPARK_JOIN
from unskew_lab.apps.running import Runner

START = tpch_data.START


@pytest.fixture(scope="module")
def events(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tpch")
    tpch_data.generate(0.001, folder)
    made = tpch_data.events(tpch_data.read(folder))
    # So few suppliers are none in Asia, and four in America.
    moved = pc.replace_substring(made["region"], "AMERICA", app.REGION)
    return made.set_column(made.schema.get_field_index("region"), "region", moved)


def test_tables_become_one_stream_of_events(events):
    counts = Counter(events["kind"].to_pylist())
    assert counts == {"line": 6_005, "order": 1_500, "customer": 150, "supplier": 10}
    facts = events.filter(pc.is_in(events["kind"], pa.array(["line", "order"])))
    times = facts["at"].to_pylist()
    assert min(times) == START
    assert max(times) < START + datetime.timedelta(minutes=tpch_data.MINUTES)


def test_foreign_keys_are_skewed_and_their_frequencies_change(events):
    lines = events.filter(pc.equal(events["kind"], "line"))
    suppliers = lines["suppkey"].to_numpy()
    quarters = [np.bincount(part, minlength=11) for part in np.array_split(suppliers, 4)]
    assert all(part.max() > 2 * part.sum() / 10 for part in quarters)
    assert any(not np.array_equal(np.argsort(quarters[0]), np.argsort(each)) for each in quarters)


def test_lines_belong_to_orders_nearby(events):
    orders = events.filter(pc.equal(events["kind"], "order"))
    came = dict(zip(orders["orderkey"].to_pylist(), orders["at"].to_pylist(), strict=True))
    lines = events.filter(pc.equal(events["kind"], "line"))
    apart = [
        abs(came[key] - at)
        for key, at in zip(lines["orderkey"].to_pylist(), lines["at"].to_pylist(), strict=True)
    ]
    assert np.mean([each < app.WINDOW for each in apart]) > 0.9
    assert max(apart) < app.WINDOW + datetime.timedelta(minutes=1)


def minute(number: float) -> datetime.datetime:
    return START + datetime.timedelta(minutes=number)


def event(kind: str, at: float, **values) -> dict:
    empty = dict.fromkeys(("custkey", "suppkey", "price", "discount"))
    return {"kind": kind, "at": minute(at), **empty, **values}


def test_orders_and_lines_wait_for_each_other():
    processor = app.Sales()
    price = {"price": Decimal("10.00"), "discount": Decimal("0.10")}
    early = pa.Table.from_pylist([event("line", 0, suppkey=1, **price)])
    sales, state = processor.process(7, early, None)
    assert sales is None
    assert [line["suppkey"] for line in state["lines"]] == [1]
    order = event("order", 3, custkey=5)
    both = pa.Table.from_pylist([order, event("line", 4, suppkey=2, **price)])
    sales, state = processor.process(7, both, state)
    assert [(sale["custkey"], sale["suppkey"]) for sale in sales] == [(5, 1), (5, 2)]
    assert [(sale["first"], sale["last"]) for sale in sales] == [
        (minute(0), minute(3)),
        (minute(3), minute(4)),
    ]
    late = pa.Table.from_pylist([event("line", 8, suppkey=3, **price)])
    assert processor.process(7, late, state) == ([], state)


def test_lines_whose_order_can_no_longer_meet_them_are_forgotten():
    lines = [event("line", at, suppkey=at, price=None, discount=None) for at in (0, 4, 6)]
    _, state = app.Sales().process(7, pa.Table.from_pylist(lines), None)
    assert [line["suppkey"] for line in state["lines"]] == [4, 6]


@pytest.mark.spark
def test_every_window_is_that_of_sql(spark, events, tmp_path):
    rows = spark.createDataFrame(events)
    runner = Runner(app.APP, rows, workers=3, batches=2, folder=tmp_path)
    assert len({row["until"] for row in runner.reference.rows}) > 10
    if os.environ.get("UNSKEW_TEST_MODE") == "connect":
        with pytest.raises(SessionError, match="classic session"):
            runner.run("mixed")
        return
    assert runner.run(SPARK_JOIN).matches_reference
    found = runner.run("mixed")
    assert found.matches_reference
    assert found.answer.rows == runner.reference.rows
    assert found.rows == 7_505
    less = app._answer(app.plain_q5(rows.where("suppkey IS NULL OR suppkey > 1")))
    assert not app.APP.agrees(less, runner.reference)


def test_a_folder_without_the_tables_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"has no orders\.parquet"):
        tpch_data.read(tmp_path)
