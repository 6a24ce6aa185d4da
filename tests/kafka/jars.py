"""Fetch the jars of a Kafka broker and of Spark's connector, with the Ivy that PySpark brings.

    python -m tests.kafka.jars FOLDER

Ivy looks where it is told to (`~/.ivy2`, or its default, the public repository). A connector of
the very version of PySpark is taken if there is one, else the nearest older one, and said.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyspark

SCALA = "2.13"
BROKER = ("org.apache.kafka", f"kafka_{SCALA}", "4.3.1")
OLDER = ("4.2.0", "4.1.3", "4.1.1")
"""Connectors to fall back to: a repository may not have the newest yet."""
TOKENS = ("4.0.0",)
"""The same for the part of the connector that knows about delegation tokens."""
CLIENTS = (
    ("org.apache.kafka", "kafka-clients", "3.9.2"),
    ("org.apache.commons", "commons-pool2", "2.12.1"),
)
PATIENCE = 900


class UnavailableError(Exception):
    """The jars cannot be had here; says why."""


@dataclass(frozen=True, slots=True)
class Jars:
    """Where they are."""

    broker: Path
    connector: Path

    @property
    def versions(self) -> str:
        """For people."""
        [connector] = self.connector.glob("spark-sql-kafka*.jar")
        return f"Kafka {BROKER[2]}, {connector.stem}, PySpark {pyspark.__version__}"


def fetch(folder: Path) -> Jars:
    """All jars, from `folder` if they are there already."""
    if shutil.which("java") is None:
        raise UnavailableError("there is no Java, which both Spark and Kafka need")
    jars = Jars(folder / "broker", folder / "connector")
    if not (jars.broker / "complete").exists():
        _retrieve([BROKER], jars.broker, transitive=True)
        (jars.broker / "complete").touch()
    if not (jars.connector / "complete").exists():
        _first(_connectors(), jars.connector)
        _first(_token_providers(), jars.connector)
        _retrieve(CLIENTS, jars.connector, transitive=False)
        (jars.connector / "complete").touch()
    return jars


Coordinates = tuple[str, str, str]


def _connectors() -> Iterator[Coordinates]:
    for version in dict.fromkeys((pyspark.__version__, *OLDER)):
        yield "org.apache.spark", f"spark-sql-kafka-0-10_{SCALA}", version


def _token_providers() -> Iterator[Coordinates]:
    for version in dict.fromkeys((pyspark.__version__, *OLDER, *TOKENS)):
        yield "org.apache.spark", f"spark-token-provider-kafka-0-10_{SCALA}", version


def _first(candidates: Iterator[Coordinates], folder: Path) -> None:
    reasons = []
    for each in candidates:
        try:
            _retrieve([each], folder, transitive=False)
            return
        except UnavailableError as error:
            reasons.append(str(error))
    raise UnavailableError("; ".join(reasons))


def _retrieve(wanted: Sequence[Coordinates], folder: Path, *, transitive: bool) -> None:
    """Let Ivy copy jars to `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    [ivy] = (Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar")
    for each in wanted:
        name = ":".join(each)
        print(f"fetching {name} ...", flush=True)
        command = ["java", "-jar", str(ivy), "-confs", "default", "-dependency", *each]
        command += ["-types", "jar", "bundle", "-retrieve", f"{folder}/[artifact]-[revision].[ext]"]
        command += [] if transitive else ["-notransitive"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        except subprocess.TimeoutExpired as error:
            raise UnavailableError(f"{name} did not come in {PATIENCE} s") from error
        if done.returncode or not list(folder.glob(f"{each[1]}-*.jar")):
            raise UnavailableError(f"{name} is not to be had: {_reason(done.stdout)}")


def _reason(output: str) -> str:
    lines = [line.strip() for line in output.splitlines()]
    signs = ("not found", "UnknownHost", "refused", "timed out")
    told = [line for line in lines if any(sign in line for sign in signs)]
    return (told or lines or ["Ivy said nothing"])[-1].strip(": ")


if __name__ == "__main__":
    try:
        print(fetch(Path(sys.argv[1])).versions)
    except UnavailableError as error:
        raise SystemExit(f"no jars: {error}") from error
