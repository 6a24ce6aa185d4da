"""The core works without Spark, and importing unskew costs next to nothing."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"pyspark", "pandas", "matplotlib", "plotly"}


@pytest.mark.parametrize(
    ("module", "forbidden"),
    [
        ("unskew", {*HEAVY, "numba", "pyarrow", "numpy"}),
        ("unskew.partitioners", HEAVY),
        ("unskew.simulator.counting", HEAVY),
        ("unskew.cli", HEAVY),
    ],
)
def test_importing_stays_light(module, forbidden):
    program = f"import sys, {module}; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not forbidden & set(loaded)
