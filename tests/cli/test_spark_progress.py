from __future__ import annotations

import io
import os
import time

import pytest
from rich.console import Console

from unskew.cli import spark_progress

pytestmark = [
    pytest.mark.spark,
    pytest.mark.skipif(
        os.environ.get("UNSKEW_TEST_MODE") == "connect",
        reason="the command line starts a classic session, and its bar asks that one's status",
    ),
]


def test_the_bar_tells_tasks_and_rows(spark, monkeypatch):
    written = io.StringIO()
    monkeypatch.setattr(
        spark_progress, "errors", Console(file=written, force_terminal=True, width=80)
    )
    monkeypatch.setattr(spark_progress, "_EVERY", 0.05)

    def slowly(batches):
        for batch in batches:
            time.sleep(0.5)
            yield batch

    rows = spark.range(8000, numPartitions=8).mapInArrow(slowly, "id bigint")
    with spark_progress.spark_bar("Counting", spark):
        assert rows.count() == 8000
    said = written.getvalue()
    assert "Counting" in said
    assert "of 8 tasks" in said


def test_nothing_stands_when_nothing_runs(spark):
    assert spark_progress.standing(spark).of == 0
