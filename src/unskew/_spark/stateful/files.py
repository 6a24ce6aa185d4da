"""Small files on any Hadoop-compatible file system, and those of Spark's own checkpoint.

A file is written whole or not at all, by the class that Spark writes its own checkpoints with: a
file system needs to offer no more than Spark asks of it
(`spark.sql.streaming.checkpointFileManagerClass`).
"""

from __future__ import annotations

import json
import logging
from typing import Any, cast

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from unskew.errors import SessionError, StateError

logger = logging.getLogger("unskew")

# Where the class lives depends on Spark's version.
_MANAGERS = (
    "org.apache.spark.sql.execution.streaming.checkpointing.CheckpointFileManager",
    "org.apache.spark.sql.execution.streaming.CheckpointFileManager",
)


def is_connect(given: SparkSession | DataFrame) -> bool:
    """Whether this is a session of Spark Connect, or belongs to one."""
    return "connect" in type(given).__module__


def check_classic(given: SparkSession | DataFrame) -> None:
    """Raise unless this is a classic session, or belongs to one."""
    if is_connect(given):
        raise SessionError(
            "stateful(...) finds its state through the driver's JVM, which Spark Connect does not "
            "expose; use a classic session (SparkSession.builder.master(...))"
        )


class Files:
    """The files in one folder; names are relative to it."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        check_classic(spark)
        self._jvm = cast(Any, spark.sparkContext._jvm)
        session: Any = spark._jsparkSession
        conf = session.sessionState().newHadoopConf()
        root = self._jvm.org.apache.hadoop.fs.Path(folder)
        self._fs = root.getFileSystem(conf)
        self.folder = str(self._fs.makeQualified(root).toString())
        self._manager = self._new_manager(root, conf)

    def _new_manager(self, root: Any, conf: Any) -> Any:
        for name in _MANAGERS:
            found = self._jvm
            for part in name.split("."):
                found = getattr(found, part)
            if callable(getattr(found, "create", None)) and "JavaClass" in type(found).__name__:
                return found.create(root, conf)
        raise StateError("this Spark has no CheckpointFileManager; use Spark 4.1 to 4.3")

    def path(self, name: str) -> str:
        """The whole path of a name."""
        return f"{self.folder}/{name}"

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self.path(name))

    def create(self, name: str, content: bytes) -> None:
        """Write a file that does not exist yet."""
        path = self._path(name)
        self._manager.mkdirs(path.getParent())
        stream = self._manager.createAtomic(path, False)
        try:
            stream.write(bytearray(content))
        except BaseException:
            stream.cancel()
            raise
        try:
            stream.close()
        except Py4JJavaError as error:
            if "FileAlreadyExists" not in str(error.java_exception):
                raise
            raise StateError(
                f"{self.path(name)} already exists: another query writes to the same checkpoint; "
                "stop one of them, or give each its own checkpoint"
            ) from error

    def read(self, name: str) -> bytes:
        """The content of a file."""
        stream = self._fs.open(self._path(name))
        try:
            return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def names(self, folder: str) -> list[str]:
        """The names in a folder without hidden files; empty if there is no such folder."""
        path = self._path(folder)
        if not self._fs.exists(path):
            return []
        found = (str(each.getPath().getName()) for each in self._fs.listStatus(path))
        return sorted(name for name in found if not name.startswith("."))

    def exists(self, name: str) -> bool:
        """Whether there is such a file or folder."""
        return bool(self._fs.exists(self._path(name)))

    def remove(self, name: str) -> None:
        """Remove a file or a folder if it exists."""
        self._fs.delete(self._path(name), True)


def query_id(session: SparkSession) -> str:
    """The id of the running query; it stays the same as long as Spark's checkpoint exists."""
    return str(session.sparkContext.getLocalProperty("sql.streaming.queryId"))


def batch_time(spark_files: Files, batch: int) -> int:
    """When a batch was planned, in microseconds: the same each time the batch runs."""
    for line in spark_files.read(f"offsets/{batch}").decode().splitlines():
        if "batchTimestampMs" in line:
            return int(json.loads(line)["batchTimestampMs"]) * 1000
    raise StateError(
        f"{spark_files.path('offsets')}/{batch} has no batchTimestampMs; restore the file, or "
        "start with a new checkpoint"
    )


def rewind(spark_files: Files, last: int) -> None:
    """Make Spark repeat the batches after `last`, which are not in the state.

    Spark takes the newest of its offsets that has no commit for the batch to run next.
    """
    ahead = [batch for batch in _numbers(spark_files, "commits") if batch > last]
    if not ahead:
        return
    if spark_files.exists("state"):
        raise StateError(
            f"the state ends with batch {last}, but Spark's checkpoint with {max(ahead)}, and "
            "Spark's own stateful operators in this stream cannot be rewound; start with a new "
            "checkpoint"
        )
    logger.warning("batches %d to %d are run again", last + 1, max(ahead))
    # Offsets first: with a commit gone and later offsets there, Spark would go on with those.
    for batch in reversed(_numbers(spark_files, "offsets")):
        if batch > last + 1:
            spark_files.remove(f"offsets/{batch}")
    for batch in reversed(ahead):
        spark_files.remove(f"commits/{batch}")


def _numbers(spark_files: Files, folder: str) -> list[int]:
    return sorted(int(name) for name in spark_files.names(folder) if name.isdigit())
