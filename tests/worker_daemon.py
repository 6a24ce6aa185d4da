"""Spark's daemon for Python workers, with everything imported before it forks one.

Spark's own imports after the fork, so that no thread is lost in it: a second of CPU for each of the
dozens of workers of a test run. Here no thread is started, and that is checked.
"""

from __future__ import annotations

import gc
import os
import sys
from pathlib import Path

# OpenBLAS and Arrow's allocator start a thread each when they are loaded.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["JE_ARROW_MALLOC_CONF"] = "background_thread:false"
# Spark puts PySpark in front as a zip: compiled anew in every process, its table of contents read
# anew in every task. The one that is installed is the same.
ZIPS = ("pyspark.zip", "py4j-")
sys.path = [place for place in sys.path if not Path(place).name.startswith(ZIPS)]
sys.path_importer_cache.clear()

import numpy as np  # noqa: E402
import pyarrow.compute  # noqa: E402, F401
import pyspark.daemon  # noqa: E402
import pyspark.worker  # noqa: E402

import unskew  # noqa: E402
import unskew._spark.verbs.group_by  # noqa: E402, F401
from unskew.hashing import hash_ids  # noqa: E402

hash_ids(np.arange(1))  # Numba reads its own tables at the first call.

if __name__ == "__main__":
    threads = len(list(Path("/proc/self/task").iterdir()))
    assert threads == 1, f"{threads} threads run before the first fork"
    # A worker collects garbage after each task: not among what was imported here.
    gc.freeze()
    pyspark.daemon.manager()
