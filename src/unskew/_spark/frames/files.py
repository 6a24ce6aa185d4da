"""Files on any Hadoop-compatible file system, and the id of the query that writes them.

A file is written whole or not at all, by the class that Spark writes its own checkpoints with: a
file system needs to offer no more than Spark asks of it
(`spark.sql.streaming.checkpointFileManagerClass`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from unskew.errors import SessionError, StateError

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


# What Hadoop says of a file that is gone, cut short or changed. Any other failure (a permission, a
# network) says nothing about the file.
_DAMAGE = ("FileNotFoundException", "ChecksumException", "EOFException")


class DamagedFileError(StateError):
    """A file is missing, truncated or changed."""


class Files:
    """The files in one folder; names are relative to it."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        check_classic(spark)
        self._jvm = cast(Any, spark.sparkContext._jvm)
        # Kept: each part of such a name is a search through all of Spark's jars.
        apache = self._jvm.org.apache
        self._new_path = apache.hadoop.fs.Path
        self._content = apache.commons.io.IOUtils.toByteArray
        self._sha256 = apache.commons.codec.digest.DigestUtils.sha256Hex
        session: Any = spark._jsparkSession
        conf = session.sessionState().newHadoopConf()
        root = self._new_path(folder)
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
        return self._new_path(self.path(name))

    def create(self, name: str, content: bytes) -> None:
        """Write a file that does not exist yet."""
        try:
            self._create(name, content)
        except Py4JJavaError as error:
            cause = str(error.java_exception).splitlines()[0]
            # A folder where a file is fails under this name, too.
            if "FileAlreadyExists" in cause and self.exists(name):
                raise StateError(
                    f"{self.path(name)} already exists: another query writes to the same folder; "
                    "stop one of them, or give each its own"
                ) from error
            raise StateError(
                f"{self.path(name)} cannot be written: {cause}; nothing is lost: make room, or "
                "allow writing, and start the query again"
            ) from error

    def _create(self, name: str, content: bytes) -> None:
        path = self._path(name)
        self._manager.mkdirs(path.getParent())
        stream = self._manager.createAtomic(path, False)
        try:
            stream.write(bytearray(content))
        except BaseException:
            stream.cancel()
            raise
        stream.close()

    def read(self, name: str) -> bytes:
        """The content of a file; raises `DamagedFileError` if it is gone or cut short."""
        return bytes(self._opened(name, self._content))

    def checksum(self, name: str) -> str:
        """The SHA-256 of a file; raises `DamagedFileError` if it is gone or cut short."""
        return str(self._opened(name, self._sha256))

    def _opened(self, name: str, use: Callable[[Any], Any]) -> Any:
        try:
            stream = self._fs.open(self._path(name))
            try:
                return use(stream)
            finally:
                stream.close()
        except Py4JJavaError as error:
            cause = str(error.java_exception).splitlines()[0]
            if not any(each in cause for each in _DAMAGE):
                raise
            raise DamagedFileError(cause) from error

    def names(self, folder: str) -> list[str]:
        """The names in a folder without hidden files; empty if there is no such folder."""
        path = self._path(folder)
        if not self._fs.exists(path):
            return []
        found = (str(each.getPath().getName()) for each in self._fs.listStatus(path))
        return sorted(name for name in found if not name.startswith("."))

    def lengths(self, folder: str) -> dict[str, int]:
        """The length of each file in a folder, without hidden files; empty if there is none."""
        path = self._path(folder)
        if not self._fs.exists(path):
            return {}
        found = {
            str(each.getPath().getName()): int(each.getLen()) for each in self._fs.listStatus(path)
        }
        return {name: size for name, size in found.items() if name[0] not in "._"}

    def exists(self, name: str) -> bool:
        """Whether there is such a file or folder."""
        return bool(self._fs.exists(self._path(name)))

    def remove(self, name: str) -> None:
        """Remove a file or a folder if it exists."""
        self._fs.delete(self._path(name), True)


def query_id(session: SparkSession) -> str:
    """The id of the running query; it stays the same as long as Spark's checkpoint exists."""
    return str(session.sparkContext.getLocalProperty("sql.streaming.queryId"))


def checkpoint_of(stream: DataFrame, batch: DataFrame) -> str | None:
    """The folder of the checkpoint of a stream's running query; None if `batch` has no query."""
    query = query_id(batch.sparkSession)
    if query == str(None):
        return None
    # A batch has a session of its own, which does not list the query.
    session: Any = stream.sparkSession
    found = session._jsparkSession.streams().get(query)
    return None if found is None else str(found.streamingQuery().resolvedCheckpointRoot())
