"""A pilot that is late does not outlive its job: its Python worker ends itself."""

from __future__ import annotations

import subprocess
import sys
import threading
import uuid
from pathlib import Path

import pytest

import unskew


@pytest.mark.parametrize(("waits", "ends"), [(600, 1), (0, 0)])
def test_a_process_ends_itself_if_what_it_does_takes_too_long(waits, ends):
    program = (
        "import time\n"
        "from unskew._spark.engine.pilot_task import Bounded\n"
        f"slow = lambda batches: (time.sleep({waits}) or each for each in batches)\n"
        "assert list(Bounded(slow, 0.05)(iter([1, 2]))) == [1, 2]\n"
        "time.sleep(1)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=120)
    assert done.returncode == ends, done.stderr


@pytest.mark.spark
def test_a_pilot_is_bounded_and_the_run_is_not(spark, tmp_path):
    marks = str(tmp_path)

    def naming(table):
        names = " ".join(each.name for each in threading.enumerate())
        Path(marks, uuid.uuid4().hex).write_text(names)
        return table.slice(0, 1)

    def is_bounded(files):
        return {"end of a pilot" in each.read_text() for each in files}

    rows = spark.range(0, 160, 1, 1).selectExpr("id % 16 key", "id")
    made = unskew.groupBy(rows, "key").applyInArrow(naming, rows.schema)
    pilot = set(tmp_path.iterdir())
    assert is_bounded(pilot) == {True}
    made.collect()
    assert is_bounded(set(tmp_path.iterdir()) - pilot) == {False}
