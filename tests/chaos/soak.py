"""Run a stateful stream for many batches; write down what each took, its files and its memory.

    python -m tests.chaos.soak --batches 1000 --json soak.json

The load is the same in every batch. Another key is hot every twenty batches, so that keys move and
state is compacted all the time. Files are those of the state; those of Spark's own part of the
checkpoint, which keeps the last hundred batches, are counted apart. Memory is what is left when
garbage was collected, every so many batches. Exits with 1 if the counts of the keys are wrong at
the end.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession
from tests.chaos.run import PATIENCE, write_whole

import unskew
from unskew_lab.session import new_session

ROWS, KEYS, WORKERS = 4_000, 20_000, 8
HOT_ROWS, HOT_BATCHES = 1_000, 20
AHEAD = 4
"""Files that wait, so that the stream never does."""
COLLECTED = 20
"""Batches after which garbage is collected."""
RETAINED = {
    f"spark.{name}": "100"
    for name in (
        "sql.ui.retainedExecutions",
        "ui.retainedJobs",
        "ui.retainedStages",
        "ui.retainedTasks",
    )
}
"""What Spark remembers for its pages, a hundred thousand tasks by default: it would hide growth."""


def main() -> None:
    """Run it, and print a line now and then."""
    options = argparse.ArgumentParser()
    options.add_argument("--batches", type=int, default=1000)
    options.add_argument("--json", type=Path)
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        records, wrong = soak(Path(folder), asked.batches)
    if asked.json:
        asked.json.write_text(json.dumps({"wrong": wrong, "batches": records}) + "\n")
    sys.exit(1 if wrong else 0)


def soak(folder: Path, batches: int) -> tuple[list[dict[str, Any]], int]:
    """A record of each batch, and the number of keys whose count is wrong at the end."""
    asked = " ".join(f"--conf {name}={value}" for name, value in RETAINED.items())
    os.environ["PYSPARK_SUBMIT_ARGS"] = f"{asked} pyspark-shell"
    session = new_session(slots=2)
    (folder / "rows").mkdir()
    expected: Counter[str] = Counter()
    draw = np.random.default_rng(1)
    source = session.readStream.schema("key string").option("maxFilesPerTrigger", 1)
    stream = unskew.streaming.stateful(
        source.parquet(str(folder / "rows")), "key", _count, schema="key string, n bigint",
        state_schema="n bigint", checkpoint=str(folder / "state"), workers=WORKERS, cost="rows",
        payback=None,
    )  # fmt: skip
    records: list[dict[str, Any]] = []
    written, heard, megabytes = 0, time.monotonic(), 0.0
    query = stream.start(lambda output, _: output.write.format("noop").mode("overwrite").save())
    while query.isActive and len(records) < batches:
        last = records[-1]["batch"] if records else -1
        for done in stream.progress:  # It keeps the last thousand.
            if not last < done.batch < batches:
                continue
            if done.batch % COLLECTED == 0:
                megabytes = _megabytes(session)
            records.append(
                {
                    "batch": done.batch,
                    "seconds": round(done.seconds, 4),
                    "moved": done.migrated_keys,
                    "files": _files(folder / "state" / "state"),
                    "spark_files": _files(folder / "state" / "spark"),
                    "megabytes": megabytes,
                }
            )
            heard = time.monotonic()
            if len(records) % 50 == 0:
                print(len(records), records[-1], flush=True)
        while written < min(len(records) + AHEAD, batches):
            expected.update(_write(folder, written, draw))
            written += 1
        if time.monotonic() > heard + PATIENCE:
            raise SystemExit(f"no batch after {len(records)} in {PATIENCE} s")
        time.sleep(0.02)
    query.stop()
    query.awaitTermination()
    state = unskew.streaming.read_state(session, str(folder / "state")).toArrow()
    found = dict(zip(state["key"].to_pylist(), state["n"].to_pylist(), strict=True))
    wrong = sum(found.get(key) != count for key, count in expected.items())
    return records, wrong + len(found.keys() - expected.keys())


def _count(key: Any, rows: pa.Table, state: Any) -> Any:
    n = rows.num_rows + (state["n"] if state else 0)
    return [{"key": key, "n": n}], {"n": n}


def _write(folder: Path, number: int, draw: np.random.Generator) -> Iterable[str]:
    """One file; returns its keys."""
    numbers = draw.integers(0, KEYS, ROWS)
    numbers[:HOT_ROWS] = 7 * (number // HOT_BATCHES) % KEYS
    keys = [f"key-{each}" for each in numbers]
    write_whole(pa.table({"key": keys}), folder / "rows", number)
    return keys


def _files(folder: Path) -> int:
    return sum(len(names) for _, _, names in os.walk(folder))


def _megabytes(session: SparkSession) -> float:
    """What the Java heap holds without garbage, and the whole driver in Python."""
    java: Any = session.sparkContext._jvm
    java.java.lang.System.gc()
    runtime = java.java.lang.Runtime.getRuntime()
    heap = runtime.totalMemory() - runtime.freeMemory()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return round((heap + pages * 4096) / 1e6, 1)


if __name__ == "__main__":
    main()
