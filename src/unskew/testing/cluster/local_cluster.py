"""A standalone Spark cluster of local processes, whose machines can be slow or killed."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

import pyspark
from pyspark.sql import SparkSession

from unskew._spark.frames.physical_plan import CHECKSUMS
from unskew.errors import ParameterError
from unskew.testing.cluster.emulation import SPEED_FILE
from unskew.testing.cluster.processes import Started, free_port, stop_all, wait_until

_HOME = Path(pyspark.__file__).parent
_LOGGING = """rootLogger.level=error
rootLogger.appenderRef.stderr.ref=stderr
appender.stderr.type=Console
appender.stderr.name=stderr
appender.stderr.target=SYSTEM_ERR
appender.stderr.layout.type=PatternLayout
appender.stderr.layout.pattern=%d %p %c{1}: %m%n
"""
_SPARE = 384
"""Megabytes that a machine has beyond its executor's heap."""


@dataclass(frozen=True, slots=True)
class Machine:
    """One worker process: tasks at a time, its executor's memory in MB, and how fast it is."""

    slots: int = 1
    memory: int = 640
    speed: float = 1.0

    def __post_init__(self) -> None:
        if self.slots < 1:
            raise ParameterError(f"slots={self.slots} is not at least 1")
        _check_speed(self.speed)


class LocalCluster:
    """One master and a worker process per machine, on the loopback, until the `with` block ends.

    `machines` is their number, with `slots`, `memory` and `speed` alike, or a list of `Machine`.
    Speeds do not slow processes down: `emulated_work` in a task takes the speed of its machine
    into account. Logs lie in `folder`; a folder of its own is removed, unless the block failed.

    When: a test has to kill executors, lose shuffle files or have slow machines; or more slots
        than cores for work that sleeps. Not for plain tests of results: `local[2]` starts sooner.
    Cost: half a minute to start, about 0.8 GB per machine.
    """

    def __init__(
        self,
        machines: int | Sequence[Machine] = 2,
        *,
        slots: int = 1,
        memory: int = 640,
        speed: float = 1.0,
        folder: Path | None = None,
    ) -> None:
        alike = Machine(slots, memory, speed)
        self.machines = [alike] * machines if isinstance(machines, int) else list(machines)
        if not self.machines:
            raise ParameterError("a cluster has at least one machine")
        self.keep = folder is not None
        self._given = folder
        self.folder = folder or Path()
        self.port = self.page = 0
        self.processes: list[Started] = []
        self._session: SparkSession | None = None

    @property
    def url(self) -> str:
        """The master URL."""
        return f"spark://127.0.0.1:{self.port}"

    @property
    def slots(self) -> int:
        """Tasks at a time, on all machines together."""
        return sum(machine.slots for machine in self.machines)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.keep = True
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        if kind is not None and not self.keep:
            self.keep = True
            print(f"the logs of the cluster are kept in {self.folder}", file=sys.stderr)
        self.stop()

    def start(self) -> None:
        """Start all processes and wait until the master knows all workers."""
        self.folder = self._given or Path(tempfile.mkdtemp(prefix="unskew-cluster-"))
        (self.folder / "conf").mkdir(parents=True)
        (self.folder / "conf" / "log4j2.properties").write_text(_LOGGING)
        self.port, self.page = free_port(), free_port()
        place = ["--host", "127.0.0.1", "--port", str(self.port), "--webui-port", str(self.page)]
        self._spawn("master", "127.0.0.1", "master.Master", place)
        wait_until(lambda: self._alive() is not None, "the master", self.processes)
        for number, machine in enumerate(self.machines):
            self._start_worker(number, machine)
        wait_until(lambda: self._alive() == len(self.machines), "the cluster", self.processes)

    def session(self, settings: Mapping[str, str] | None = None) -> SparkSession:
        """A Spark session on this cluster, quiet and on the loopback; ends with the cluster."""
        os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
        quiet = {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.executor.memory": f"{min(each.memory for each in self.machines)}m",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "ERROR",
            "spark.sql.shuffle.partitions": str(self.slots),
            # Else the first stage runs on the machines that happen to be up.
            "spark.scheduler.minRegisteredResourcesRatio": "1.0",
            # The defaults since Spark 4.3: routes that depend on the order of rows need them.
            **dict.fromkeys(CHECKSUMS, "true"),
        }
        builder = SparkSession.builder.master(self.url).appName("unskew")
        self._session = builder.config(map={**quiet, **(settings or {})}).getOrCreate()
        return self._session

    def set_speed(self, machine: int, speed: float) -> None:
        """Make a machine faster or slower from now on."""
        _check_speed(speed)
        path = self._speed_file(machine)
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_text(str(speed))
        unfinished.replace(path)

    def executors(self) -> list[int]:
        """The process ids of the executors, which are children of our workers."""
        parents = {each.pid for each in self.processes}
        found = []
        for each in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                parent = int((each / "stat").read_text().rpartition(")")[2].split()[1])
                command = (each / "cmdline").read_bytes()
                if parent in parents and b"CoarseGrainedExecutorBackend" in command:
                    found.append(int(each.name))
        return sorted(found)

    def kill_an_executor(self, number: int = 0) -> bool:
        """Kill one with SIGKILL; False if there is none at the moment."""
        found = self.executors()
        if not found:
            return False
        os.kill(found[number % len(found)], signal.SIGKILL)
        return True

    def stop(self) -> None:
        """End the session and every process, and remove a folder that was ours."""
        session, self._session = self._session, None
        try:
            if session is not None:
                session.stop()
        finally:
            # Also if the driver's JVM died before: the others would outlive us.
            stop_all(self.processes[::-1])
            self.processes = []
            if not self.keep:
                shutil.rmtree(self.folder, ignore_errors=True)

    def _start_worker(self, number: int, machine: Machine) -> None:
        name = f"worker-{number}"
        # With addresses of their own they count as different machines. All are the loopback's.
        address = f"127.0.0.{number + 2}"
        self.set_speed(number, machine.speed)
        place = ["--host", address, "--work-dir", str(self.folder / name), "--webui-port", "0"]
        size = ["--cores", str(machine.slots), "--memory", f"{machine.memory + _SPARE}m"]
        self._spawn(name, address, "worker.Worker", [*place, *size, self.url], number)

    def _spawn(
        self, name: str, address: str, kind: str, arguments: list[str], number: int | None = None
    ) -> None:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
        settings = {
            "SPARK_HOME": str(_HOME),
            "SPARK_LOCAL_IP": address,
            "SPARK_LOCAL_DIRS": str(self.folder / f"{name}-local"),
            "SPARK_CONF_DIR": str(self.folder / "conf"),
            "SPARK_DAEMON_MEMORY": "256m",
            "PYSPARK_PYTHON": sys.executable,
        }
        if number is not None:
            settings[SPEED_FILE] = str(self._speed_file(number))
        command = [str(_HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}"]
        log = self.folder / f"{name}.log"
        self.processes.append(Started.of([*command, *arguments], clean | settings, log))

    def _speed_file(self, machine: int) -> Path:
        return self.folder / f"worker-{machine}.speed"

    def _alive(self) -> int | None:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"http://127.0.0.1:{self.page}/json/", timeout=5) as answer:
                states = [str(each["state"]) for each in json.load(answer)["workers"]]
                return states.count("ALIVE")
        except OSError:
            return None


def _check_speed(speed: float) -> None:
    if not speed > 0:
        raise ParameterError(f"speed={speed} is not above 0")
