from __future__ import annotations

import io
import time
from pathlib import Path

import pytest
from rich.console import Console

from unskew.cli import spark_progress

pytestmark = [
    pytest.mark.spark,
    pytest.mark.classic("the command line's bar asks the status of a classic session"),
]


class Screen(io.StringIO):
    """A terminal that creates a file once it has shown the number of tasks."""

    def __init__(self, seen: Path) -> None:
        super().__init__()
        self.seen = seen

    def write(self, text: str) -> int:
        written = super().write(text)
        if "of 8 tasks" in self.getvalue():
            self.seen.touch()
        return written


def test_the_bar_tells_tasks_and_rows(spark, monkeypatch, tmp_path):
    seen = tmp_path / "seen"
    screen = Screen(seen)
    console = Console(file=screen, force_terminal=True, width=80)
    monkeypatch.setattr(spark_progress, "errors", console)
    monkeypatch.setattr(spark_progress, "_EVERY", 0.05)

    def when_seen(batches):
        """Keep the job running until the bar has shown it."""
        for batch in batches:
            end = time.monotonic() + 60
            while not seen.exists() and time.monotonic() < end:
                time.sleep(0.05)
            yield batch

    rows = spark.range(8000, numPartitions=8).mapInArrow(when_seen, "id bigint")
    with spark_progress.spark_bar("Counting", spark):
        assert rows.count() == 8000
    assert "Counting" in screen.getvalue()
    assert seen.exists()


def test_no_stage_is_active_when_nothing_runs(spark):
    # Spark's status store follows its jobs with a delay, so the last one may still be in it.
    end = time.monotonic() + 120
    while spark_progress.active_stages(spark).of and time.monotonic() < end:
        time.sleep(0.05)
    assert spark_progress.active_stages(spark).of == 0
