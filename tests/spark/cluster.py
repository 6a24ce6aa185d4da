"""A standalone Spark cluster of processes on this machine, whose executors can be killed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

HOME = Path(pyspark.__file__).parent
LOGGING = """rootLogger.level=error
rootLogger.appenderRef.stderr.ref=stderr
appender.stderr.type=Console
appender.stderr.name=stderr
appender.stderr.target=SYSTEM_ERR
appender.stderr.layout.type=PatternLayout
appender.stderr.layout.pattern=%d %p %c{1}: %m%n
"""


@dataclass
class Cluster:
    folder: Path
    port: int = 0
    page: int = 0
    processes: list[subprocess.Popen] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"spark://127.0.0.1:{self.port}"

    def start(self, workers: int) -> None:
        (self.folder / "conf").mkdir()
        (self.folder / "conf" / "log4j2.properties").write_text(LOGGING)
        self.port, self.page = free_port(), free_port()
        master = ["--host", "127.0.0.1", "--port", str(self.port), "--webui-port", str(self.page)]
        self._spawn("master", "127.0.0.1", "master.Master", master)
        wait_until(lambda: self._alive() is not None)
        for number in range(workers):
            # With addresses of their own they count as different machines.
            address = f"127.0.0.{number + 2}"
            name = f"worker-{number}"
            place = ["--host", address, "--work-dir", str(self.folder / name)]
            size = ["--cores", "1", "--memory", "1g", "--webui-port", "0"]
            self._spawn(name, address, "worker.Worker", [*place, *size, self.url])
        wait_until(lambda: self._alive() == workers)

    def _spawn(self, name: str, address: str, kind: str, arguments: list[str]) -> None:
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("SPARK_", "PYSPARK_"))}
        settings = {
            "SPARK_HOME": str(HOME),
            "SPARK_LOCAL_IP": address,
            "SPARK_LOCAL_DIRS": str(self.folder / f"{name}-local"),
            "SPARK_CONF_DIR": str(self.folder / "conf"),
            "SPARK_DAEMON_MEMORY": "256m",
            "PYSPARK_PYTHON": sys.executable,
        }
        with (self.folder / f"{name}.log").open("wb") as log:
            command = [str(HOME / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}"]
            self.processes.append(
                subprocess.Popen(
                    [*command, *arguments],
                    env=clean | settings,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=self.folder,
                    start_new_session=True,
                )
            )

    def _alive(self) -> int | None:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(f"http://127.0.0.1:{self.page}/json/", timeout=5) as answer:
                return sum(each["state"] == "ALIVE" for each in json.load(answer)["workers"])
        except OSError:
            return None

    def executors(self) -> list[int]:
        """The process ids of the executors, which are children of our workers."""
        parents = {process.pid for process in self.processes}
        found = []
        for each in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                parent = int((each / "stat").read_text().rpartition(")")[2].split()[1])
                command = (each / "cmdline").read_bytes()
                if parent in parents and b"CoarseGrainedExecutorBackend" in command:
                    found.append(int(each.name))
        return sorted(found)

    def kill_an_executor(self, number: int) -> bool:
        found = self.executors()
        if not found:
            return False
        os.kill(found[number % len(found)], signal.SIGKILL)
        return True

    def stop(self) -> None:
        for how in (signal.SIGTERM, signal.SIGKILL):
            for process in self.processes:
                if process.poll() is None:
                    os.killpg(process.pid, how)
            for process in self.processes:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(10)


@contextlib.contextmanager
def cluster(folder: Path, workers: int) -> Iterator[Cluster]:
    made = Cluster(folder)
    try:
        made.start(workers)
        yield made
    finally:
        made.stop()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(ready: Callable[[], bool], seconds: float = 240) -> None:
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            raise TimeoutError("the cluster did not come up")
        time.sleep(0.5)
