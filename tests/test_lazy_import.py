"""`import evenkeel` is quick and needs neither Spark nor a compiler."""

from __future__ import annotations

import subprocess
import sys

import pytest

import evenkeel

HEAVY = ("pyspark", "pandas", "numba", "numpy", "pyarrow")


def test_nothing_heavy_is_imported():
    check = f"import evenkeel, sys; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_everything_announced_is_there():
    assert set(evenkeel.__all__) <= set(dir(evenkeel))
    for name in evenkeel.__all__:
        assert getattr(evenkeel, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'grupBy'"):
        _ = evenkeel.grupBy
