"""An embedded Spark on this machine, for the command line, tests and notebooks."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from unskew._spark.frames.physical_plan import CHECKSUMS
from unskew.errors import SessionError

_QUIET = Path(__file__).with_name("log4j2.properties")


def local_session(cores: int | str = "*", partitions: int = 8) -> SparkSession:
    """Return the session in use, or start a quiet local one.

    Parameters
    ----------
    cores : int or str
        How many tasks run at a time; "*" is one per core.
    partitions : int
        The partitions of a shuffle.

    Returns
    -------
    SparkSession
        With Python workers of this interpreter, no web page and errors only in its log.

    Examples
    --------
    >>> from unskew.testing import local_session
    >>> spark = local_session(cores=2)  # doctest: +SKIP
    >>> spark.range(3).count()  # doctest: +SKIP
    3
    """
    # Python workers must be this interpreter: it is the one that has unskew.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    settings = (
        SparkSession.builder.master(f"local[{cores}]")
        .appName("unskew")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.extraJavaOptions", f"-Dlog4j2.configurationFile={_QUIET.as_uri()}")
        .config("spark.sql.shuffle.partitions", str(partitions))
        # The defaults since Spark 4.3: routes that depend on the order of rows need them.
        .config(map=dict.fromkeys(CHECKSUMS, "true"))
    )
    try:
        return settings.getOrCreate()
    except PySparkRuntimeError as error:
        raise SessionError(
            "Spark could not start: it needs Java 17 or newer. Install one (Debian: apt-get "
            "install openjdk-17-jre-headless) or set JAVA_HOME"
        ) from error


def stop_session() -> None:
    """Stop the session of this process, and wait until its Java process has ended."""
    context: Any = SparkContext._active_spark_context
    gateway: Any = SparkContext._gateway
    # A job that was cut short may have broken the connection to Java; it must end all the same.
    with contextlib.suppress(Exception):
        if context is not None:
            context.stop()
        if gateway is not None:
            gateway.shutdown()
    java = getattr(gateway, "proc", None)
    if java is not None:
        java.stdin.close()  # Java ends when the process that started it hangs up.
        try:
            java.wait(10)
        except subprocess.TimeoutExpired:
            java.kill()
