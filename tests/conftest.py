"""What all tests share: one Spark session per test run, and the command line."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests import effort  # noqa: F401  (its Hypothesis profile holds for all tests)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest_plugins = ["unskew.testing.fixtures"]
CONNECT = os.environ.get("UNSKEW_TEST_MODE") == "connect"
Command = Callable[..., tuple[object, str, str]]


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in a hook of the same name.
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Spark tests first, a file to a worker; the many small tests then keep all workers busy.

    Each worker has a session, and tables that tests of one file share are made once.
    """
    for item in items:
        classic = item.get_closest_marker("classic")
        if classic and CONNECT:
            item.add_marker(pytest.mark.skip(reason=classic.args[0]))
        if item.get_closest_marker("spark"):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.partition("::")[0]))
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """A local Spark session; tests that use it are marked `spark`."""
    from pyspark.sql import SparkSession
    from tests.java_names import remember_java_names

    remember_java_names()
    # Python workers must be this interpreter, with the package and numba in it.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    # They start in another folder and must find functions of the tests.
    folders = [str(Path(__file__).parent.parent), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, folders))
    settings = {
        # Two tasks at once: enough to see partitions run side by side, and CI has two cores.
        # A task may fail once: local tasks are not tried again otherwise.
        "spark.master": "local[2,2]",
        # No name look-up and no open port beyond this machine.
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        # Nobody looks at a page or a progress bar of a test run.
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Tests run every plan once: compiling it well costs more than running it. Measured on
        # batches of a stateful stream: 18 s of CPU instead of 29 s. The quick compiler alone would
        # get 48 MB for code, which the plans of a whole test run fill. Plans are garbage at once:
        # collecting the young ones rarely takes a third of the time.
        "spark.driver.extraJavaOptions": (
            "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m -XX:+UseSerialGC -Xmn400m"
        ),
        # Room for what a whole test run keeps, and less of it: a thousand plans by default.
        "spark.driver.memory": "2g",
        "spark.sql.ui.retainedExecutions": "20",
        # Python workers that need not import anything.
        "spark.python.daemon.module": "tests.worker_daemon",
        # The default of 200 tasks per shuffle takes seconds on a few hundred rows, and each is a
        # state store to open in every batch of a stream with state.
        "spark.sql.shuffle.partitions": "2",
        "spark.unskew.budget": "60",  # What is decided does not depend on the machine's speed.
        # Timestamps mean the same on every machine.
        "spark.sql.session.timeZone": "UTC",
        # The defaults since Spark 4.3: without them streams out of a shuffle are refused to
        # routers that learn.
        "spark.sql.shuffle.orderIndependentChecksum.enabled": "true",
        "spark.sql.shuffle.orderIndependentChecksum.enableFullRetryOnMismatch": "true",
        # Tables must not be left behind in the working directory.
        "spark.sql.warehouse.dir": str(tmp_path_factory.mktemp("warehouse")),
    }
    if CONNECT:
        # The same tests through Spark Connect: a server on this machine, started by the client.
        settings["spark.remote"] = settings.pop("spark.master")
    session = SparkSession.builder.appName("unskew-tests").config(map=settings).getOrCreate()
    if "spark.remote" not in settings:
        session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(autouse=True)
def _log_level() -> Iterator[None]:
    """Commands silence the log: for their own test only."""
    log = logging.getLogger("unskew")
    before = log.level
    yield
    log.setLevel(before)


@pytest.fixture
def _shuffle_partitions() -> Iterator[None]:
    """Commands ask for a session of their own, and change the one that tests share."""
    if "pyspark" not in sys.modules:
        yield
        return
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    before = session and session.conf.get("spark.sql.shuffle.partitions")
    yield
    if session and before:
        session.conf.set("spark.sql.shuffle.partitions", before)


@pytest.fixture
def run(
    _shuffle_partitions: None, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    """Run `unskew WORDS`; gives exit code, standard output and error output."""

    def command(*words: str) -> tuple[object, str, str]:
        from unskew import cli

        monkeypatch.setattr(sys, "argv", ["unskew", *words])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        output = capsys.readouterr()
        return stop.value.code, output.out, output.err

    return command
