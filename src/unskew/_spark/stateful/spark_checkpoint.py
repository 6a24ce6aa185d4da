"""The files of Spark's own checkpoint: its query, the time of a batch, and batches to repeat."""

from __future__ import annotations

import json
import logging

from unskew._spark.frames.files import Files
from unskew.errors import StateError

logger = logging.getLogger("unskew")


def batch_time(spark_files: Files, batch: int) -> int:
    """When a batch was planned, in microseconds: the same each time the batch runs."""
    for line in spark_files.read(f"offsets/{batch}").decode().splitlines():
        if "batchTimestampMs" in line:
            return int(json.loads(line)["batchTimestampMs"]) * 1000
    raise StateError(
        f"{spark_files.path('offsets')}/{batch} has no batchTimestampMs; restore the file, or "
        "start with a new checkpoint"
    )


def check_not_alone(spark_files: Files, folder: str) -> None:
    """Raise if Spark has finished batches of which there is no state at all."""
    done = _numbers(spark_files, "commits")
    if done:
        raise StateError(
            f"{folder} has no state, but {spark_files.folder} has finished batch {max(done)}: the "
            "state was removed; restore it, or start with a new checkpoint"
        )


def query_of(spark_files: Files) -> str | None:
    """The id of the query whose checkpoint it is; None if there is none."""
    if not spark_files.exists("metadata"):
        return None
    try:
        return str(json.loads(spark_files.read("metadata"))["id"])
    except (ValueError, KeyError) as error:
        raise StateError(
            f"{spark_files.path('metadata')} holds no id of a query ({error}); restore it, or "
            "start with a new checkpoint"
        ) from error


def check_in_step(spark_files: Files, last: int, folder: str) -> None:
    """Raise unless Spark can go on after the batch `last`, with which the state ends.

    Spark writes down the offsets of a batch before the batch runs, so that they are never behind
    the state. Where Spark has run more batches, it goes back to those offsets.
    """
    offsets, commits = _numbers(spark_files, "offsets"), _numbers(spark_files, "commits")
    newest = max(offsets, default=-1)
    if newest < last:
        raise StateError(
            f"{folder} ends with batch {last}, but {spark_files.folder} knows none after {newest}: "
            "Spark would take rows that it has yet to read for done; restore both from the same "
            "time, or start with a new checkpoint"
        )
    done = max(commits, default=-1)
    if done <= last:
        return
    if spark_files.exists("state"):
        raise StateError(
            f"the state ends with batch {last}, but Spark's checkpoint with {done}, and "
            "Spark's own stateful operators in this stream cannot be rewound; start with a new "
            "checkpoint"
        )
    if not {last, last + 1} <= {*offsets}:
        raise StateError(
            f"{folder} ends with batch {last}, but {spark_files.folder} with {done}, and no longer "
            f"has the offsets of batch {last + 1}; restore newer state, or start with a new "
            "checkpoint"
        )


def rewind(spark_files: Files, last: int, output: Files | None) -> None:
    """Make Spark repeat the batches after `last`, which are not in the state.

    Spark takes the newest of its offsets that has no commit for the batch to run next. Only that
    batch has the same rows again: the others may be cut differently, and be fewer, so that what
    they left in a folder of `output` would stay beside the same rows in another.
    """
    ahead = [batch for batch in _numbers(spark_files, "commits") if batch > last]
    if not ahead:
        return
    logger.warning("batches %d to %d are run again", last + 1, max(ahead))
    if output is not None:
        for batch in range(last + 2, max(ahead) + 2):  # The last one may have begun.
            output.remove(f"batch={batch}")
    # Offsets first: with a commit gone and later offsets there, Spark would go on with those.
    for batch in reversed(_numbers(spark_files, "offsets")):
        if batch > last + 1:
            spark_files.remove(f"offsets/{batch}")
    for batch in reversed(ahead):
        spark_files.remove(f"commits/{batch}")


def _numbers(spark_files: Files, folder: str) -> list[int]:
    return sorted(int(name) for name in spark_files.names(folder) if name.isdigit())
