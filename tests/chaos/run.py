"""Kill the driver and the executors of a stateful stream at random moments; check every row.

    python -m tests.chaos.run --drivers 30 --executors 20 --json docs/results/chaos.json

Without executors to kill the stream runs on a local Spark, else on a standalone cluster of
processes on this machine. Rows are numbered per key across all batches: a lost, doubled or stale
state shows as a gap or a repetition. Exits with 1 if anything is lost or doubled, or if no key has
changed worker: then nothing was tried.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from unskew.streaming import read_lines
from unskew.testing import LocalCluster

DRIVER = Path(__file__).with_name("driver.py")
ROWS_PER_FILE = 300
FILES_AHEAD = 4

PATIENCE = 300
"""Seconds without a batch, or for the rest of the stream, after which the stream hangs."""

ENDS = 3
"""Times that the driver may fail on its own before it comes to the end of the stream."""


def write_whole(table: pa.Table, folder: Path, number: int) -> None:
    """Write a file of a stream that runs: Spark must not see half of it."""
    unfinished = folder / f".{number}.unfinished"
    pq.write_table(table, unfinished)
    unfinished.rename(folder / f"{number:06d}.parquet")


@dataclass
class Feed:
    """Writes files of rows whose hot key changes; remembers what it wrote."""

    folder: Path
    draw: random.Random
    keys: list[str | None] = field(default_factory=list)
    files: int = 0

    def write(self) -> None:
        """One file more."""
        hot = f"hot-{self.files // 8}"
        start = len(self.keys)
        for _ in range(ROWS_PER_FILE):
            kind = self.draw.random()
            cold = f"key-{self.draw.randrange(500)}"
            self.keys.append(hot if kind < 0.3 else None if kind < 0.33 else cold)
        ids = range(start, len(self.keys))
        table = pa.table({"id": list(ids), "key": pa.array(self.keys[start:], pa.string())})
        write_whole(table, self.folder, self.files)
        self.files += 1


@dataclass
class Run:
    """A driver that is started again and again."""

    folder: Path
    master: str
    workers: int
    starts: int = 0
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """A new process, in a group of its own."""
        log = (self.folder / "driver.log").open("ab")
        command = [sys.executable, str(DRIVER)]
        environment = os.environ | {"PYSPARK_PYTHON": sys.executable}
        self.process = subprocess.Popen(
            [*command, str(self.folder), self.master, str(self.workers)],
            stdout=log, stderr=log, env=environment, start_new_session=True,
        )  # fmt: skip
        self.starts += 1

    def kill(self) -> None:
        """The Python driver and its JVM, which are one process group, at once."""
        assert self.process is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def hangs(self, what: str) -> SystemExit:
        """An end of it all, with the last words of the driver."""
        said = (self.folder / "driver.log").read_text(errors="replace").splitlines()[-50:]
        return SystemExit("\n".join([*said, f"{what}; above, the end of the driver's log"]))

    def is_up(self) -> bool:
        """Whether the driver runs."""
        return self.process is not None and self.process.poll() is None

    def committed(self) -> int:
        """The last batch in the state."""
        commits = (self.folder / "checkpoint" / "state" / "commits").glob("[0-9]*.json")
        return max((int(each.stem) for each in commits), default=-1)

    def files(self) -> set[str]:
        """The names of the files of state."""
        folder = self.folder / "checkpoint" / "state" / "files"
        return {each.name for each in folder.glob("*.arrow")}


@dataclass
class Chaos:
    """Kills, and what they are aimed at."""

    run: Run
    feed: Feed
    draw: random.Random
    machines: LocalCluster | None
    driver_kills: int = 0
    executor_kills: int = 0
    hit: list[int] = field(default_factory=list)
    """The batch that ran, or was next, at each kill."""
    seen: set[str] = field(default_factory=set)
    """The names of all files of state."""
    began: float = field(default_factory=time.monotonic)

    def rage(self, drivers: int, executors: int) -> None:
        """Kill until all kills are done, a batch or so apart."""
        while self.driver_kills < drivers or self.executor_kills < executors:
            self._await_progress()
            self._sleep(self.draw.uniform(0.0, 6.0))
            left = [drivers - self.driver_kills, executors - self.executor_kills]
            batch = self.run.committed() + 1
            if self.draw.random() * sum(left) < left[0]:
                self.run.kill()
                self.driver_kills += 1
                self.hit.append(batch)
            elif self.machines is not None and self.machines.kill_an_executor(
                self.draw.randrange(9)
            ):
                self.executor_kills += 1
                self.hit.append(batch)
            print(
                f"{self.driver_kills} drivers and {self.executor_kills} executors killed, "
                f"batch {self.run.committed()}, {time.monotonic() - self.began:.0f} s",
                flush=True,
            )

    def _await_progress(self) -> None:
        """Until a batch more is committed: a kill while Spark starts up would tell nothing."""
        before, end = self.run.committed(), time.monotonic() + PATIENCE
        while self.run.committed() <= before:
            if time.monotonic() > end:
                raise self.run.hangs(f"no batch after {before} in {PATIENCE} s")
            if not self.run.is_up():
                self.run.start()
            self._sleep(0.2)

    def _sleep(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            while self.feed.files <= self.run.committed() + FILES_AHEAD:
                self.feed.write()
            self.seen |= self.run.files()
            time.sleep(0.05)

    def finish(self) -> None:
        """Let the stream come to its end."""
        (self.run.folder / "over").touch()
        for _ in range(1 + ENDS):
            if self._ends():
                return
            self.run.start()
        raise self.run.hangs(f"{ENDS} drivers failed on their own")

    def _ends(self) -> bool:
        try:
            return self.run.process is not None and self.run.process.wait(PATIENCE) == 0
        except subprocess.TimeoutExpired:
            raise self.run.hangs(f"the stream did not end in {PATIENCE} s") from None


def met(hit: list[int], seen: set[str]) -> tuple[int, int]:
    """Kills in a batch that handed keys over, and in one in which a worker compacted its state."""
    parts = [(int(name.split("-")[0]), name.split("-")[2]) for name in seen if name.count("-") > 2]
    moving = {through for through, kind in parts if kind == "to"}
    compacting = {through + 1 for through, kind in parts if kind == "slice"}
    return sum(batch in moving for batch in hit), sum(batch in compacting for batch in hit)


def check(folder: Path, keys: list[str | None]) -> tuple[int, int, int]:
    """Rows lost, rows doubled, and numbers that are not 1, 2, 3 … for their key."""
    table = ds.dataset(str(folder / "output"), format="parquet").to_table(columns=["id", "n"])
    ids = Counter(table["id"].to_pylist())
    lost = sum(row not in ids for row in range(len(keys)))
    doubled = sum(count - 1 for count in ids.values())
    numbers: dict[str | None, list[int]] = {}
    for row, number in zip(table["id"].to_pylist(), table["n"].to_pylist(), strict=True):
        numbers.setdefault(keys[row], []).append(number)
    wrong = sum(sorted(each) != list(range(1, len(each) + 1)) for each in numbers.values())
    return lost, doubled, wrong


@contextlib.contextmanager
def spark_for(executors: int, folder: Path) -> Iterator[tuple[str, LocalCluster | None]]:
    """A local Spark, or a cluster if executors are to be killed."""
    if not executors:
        yield "local[2]", None
        return
    with LocalCluster(2, folder=folder / "cluster") as machines:
        yield machines.url, machines


def main() -> int:
    """Run, kill, check, and print one line of figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--drivers", type=int, default=30, help="drivers to kill")
    parser.add_argument("--executors", type=int, default=20, help="executors to kill")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, help="where to keep the figures")
    given = parser.parse_args()
    draw = random.Random(given.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "rows").mkdir()
        feed = Feed(folder / "rows", draw)
        with spark_for(given.executors, folder) as (master, machines):
            run = Run(folder, master, given.workers)
            chaos = Chaos(run, feed, draw, machines)
            try:
                chaos.rage(given.drivers, given.executors)
                chaos.finish()
            finally:
                if run.is_up():
                    run.kill()
        lost, doubled, wrong = check(folder, feed.keys)
        moved = sum(each.migrated_keys for each in read_lines(folder / "checkpoint"))
    moving, compacting = met(chaos.hit, chaos.seen)
    figures = {
        "drivers killed": chaos.driver_kills,
        "executors killed": chaos.executor_kills,
        "kills in batches that moved keys": moving,
        "kills in batches that compacted": compacting,
        "restarts": run.starts - 1,
        "batches": feed.files,
        "keys moved": moved,
        "rows checked": len(feed.keys),
        "lost": lost,
        "duplicated": doubled,
        "keys with wrong state": wrong,
    }
    print("; ".join(f"{name}: {figure}" for name, figure in figures.items()))
    if given.json:
        given.json.write_text(json.dumps(figures, indent=1) + "\n")
    return 1 if lost or doubled or wrong or not moved else 0


if __name__ == "__main__":
    raise SystemExit(main())
