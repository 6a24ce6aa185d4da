"""A real broker: `make kafka-test`. Minutes long: `pytest -m long`; needs the jars of Kafka."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.long]

ROOT = Path(__file__).parents[2]
RUN = [sys.executable, "-m", "tests.kafka.run"]


def test_nothing_is_lost_or_doubled_over_a_kill_and_a_restart():
    done = subprocess.run(RUN, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    if done.stdout.splitlines()[-1].startswith("skipped"):
        pytest.skip(done.stdout.splitlines()[-1])
    figures = re.findall(r"(lost|duplicated|wrong state): (\d+)", done.stdout)
    assert len(figures) == 10
    assert not any(int(count) for _, count in figures)


def test_where_jars_cannot_be_had_it_says_so(tmp_path):
    nowhere = {"PATH": "/nonexistent"}
    command = [*RUN, "--jars", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, env=nowhere, cwd=ROOT)
    assert (done.returncode, done.stdout) == (
        0,
        "skipped: there is no Java, which both Spark and Kafka need\n",
    )
