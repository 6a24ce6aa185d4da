"""What tasks are made of is quick to import: every Python worker of a session waits for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

TASKS = (
    "engine.bulk",
    "engine.merging",
    "engine.buckets",
    "engine.pandas_calls",
    "engine.pilot_task",
    "costs.parts",
    "stateful.worker_task",
)


@pytest.mark.parametrize("module", TASKS)
def test_a_task_does_not_load_the_compiler(module):
    code = f"import sys; import unskew._spark.{module}; print('numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
