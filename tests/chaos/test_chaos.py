"""Real kills: `make chaos` with a few of them. Minutes long: `pytest -m long`."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.long]

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(("drivers", "executors"), [(3, 0), (1, 2)])
def test_nothing_is_lost_or_doubled(drivers, executors, tmp_path):
    kept = tmp_path / "chaos.json"
    command = [sys.executable, "-m", "tests.chaos.run"]
    command += ["--drivers", str(drivers), "--executors", str(executors), "--json", str(kept)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    figures = json.loads(kept.read_text())
    assert (figures["drivers killed"], figures["executors killed"]) == (drivers, executors)
    assert figures["restarts"] >= drivers
    assert figures["rows checked"] > 0
