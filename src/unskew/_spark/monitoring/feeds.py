"""Feeds for the records of micro-batches: JSON lines, a log, a file for Prometheus."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable
from pathlib import Path

from unskew._spark.monitoring.progress import BatchProgress

Feed = Callable[[BatchProgress], None]

LINES = "batches.jsonl"

_log = logging.getLogger("unskew")

_GAUGES = {
    "batch": "number of the last micro-batch",
    "rows": "rows of the last micro-batch",
    "seconds": "seconds that the last micro-batch took",
    "max_over_mean": "highest load of a worker relative to the mean",
    "workers": "workers that rows are routed to",
    "replicas": "pairs of worker and key",
    "cost": "cost of the rows",
    "table_size": "keys in the routing table",
    "migrated_keys": "keys moved before the batch",
    "migrated_bytes": "bytes of state moved before the batch",
    "rebalance_seconds": "seconds spent on planning",
}


def log_feed(record: BatchProgress) -> None:
    """Write the record to the log of unskew."""
    _log.info("%s", record)


def lines_feed(folder: str | Path) -> Feed:
    """Append each record to `batches.jsonl` in a local folder.

    A batch that is repeated after a crash is written again; the last record of a batch counts.
    """
    path = Path(folder) / LINES
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab+") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read() != b"\n":
                file.write(b"\n")  # A crash cut a line short: the next is one of its own.

    def write(record: BatchProgress) -> None:
        with path.open("a") as file:
            file.write(record.to_json() + "\n")

    return write


def read_lines(folder: str | Path) -> list[BatchProgress]:
    """The records that `lines_feed` wrote, the last one of each batch, in order.

    Parameters
    ----------
    folder : str or Path
        Where `batches.jsonl` is: the checkpoint of a stateful stream.

    Returns
    -------
    list of BatchProgress
        Lines that a crash cut short are skipped.
    """
    found: dict[int, BatchProgress] = {}
    for line in (Path(folder) / LINES).read_text().splitlines():
        try:
            record = BatchProgress.from_json(line)
        except json.JSONDecodeError:
            continue  # A crash cut the line short.
        found[record.batch] = record
    return [found[batch] for batch in sorted(found)]


def prometheus_feed(path: str | Path, query: str) -> Feed:
    """Keep a file in Prometheus' text format, for the node exporter's textfile collector."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)

    def write(record: BatchProgress) -> None:
        # The collector must never read half a file.
        unfinished = target.with_name(target.name + ".unfinished")
        unfinished.write_text(exposition(record, query))
        unfinished.replace(target)

    return write


def exposition(record: BatchProgress, query: str) -> str:
    """A record in Prometheus' text format.

    >>> record = BatchProgress.of(batch=3, loads=[30, 10], seconds=1.5)
    >>> print(exposition(record, "words").splitlines()[2])
    unskew_batch{query="words"} 3
    """
    label = query.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    lines: list[str] = []
    for name, said in _GAUGES.items():
        value = getattr(record, name)
        if value is not None:
            lines += [f"# HELP unskew_{name} {said}", f"# TYPE unskew_{name} gauge"]
            lines.append(f'unskew_{name}{{query="{label}"}} {value}')
    lines += ["# HELP unskew_load what each worker was given", "# TYPE unskew_load gauge"]
    for worker, load in enumerate(record.loads):
        lines.append(f'unskew_load{{query="{label}",worker="{worker}"}} {load}')
    return "\n".join(lines) + "\n"
