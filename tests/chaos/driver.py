"""The driver that `run.py` kills: a stateful stream over files, until a file says it is over."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

from unskew.streaming import Processor, stateful

SETTINGS = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "640m",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
    # Killing executors is what this is about, not a broken application.
    "spark.deploy.maxExecutorRetries": "-1",
    "spark.task.maxFailures": "10",
}


def numbering() -> Processor:
    """Numbers the rows of each key through all batches; made here, so that it travels."""

    class Numbering(Processor):
        def process(self, key, rows, state):  # type: ignore[no-untyped-def]
            done = state["n"] if state else 0
            ids = rows["id"].to_pylist()
            numbered = [{"id": row, "n": done + i + 1} for i, row in enumerate(ids)]
            return numbered, {"n": done + len(ids)}

    return Numbering()


def main(folder: Path, master: str, workers: int) -> None:
    """Run the stream."""
    builder = SparkSession.builder.master(master).appName("unskew-chaos")
    spark = builder.config(map=SETTINGS).getOrCreate()
    rows = (
        spark.readStream.schema("id long, key string")
        .option("maxFilesPerTrigger", 1)
        .parquet(str(folder / "rows"))
    )
    stream = stateful(
        rows, "key", numbering(), schema="id long, n long", state_schema="n long",
        checkpoint=str(folder / "checkpoint"), workers=workers, cost="rows", merge_after=3,
        # Rows take no time, so that no move would pay: kills must meet moves.
        payback=None,
    )  # fmt: skip
    query = stream.start(str(folder / "output"))
    seen = -1
    while query.isActive and not (folder / "over").exists():
        for record in stream.progress:
            if record.batch > seen:
                seen = record.batch
                print(record, flush=True)
        time.sleep(0.2)
    if query.isActive:
        query.processAllAvailable()
        query.stop()
    elif query.exception() is not None:
        raise SystemExit(str(query.exception()))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
