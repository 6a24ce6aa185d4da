"""Processes of a test: started in process groups of their own, stopped by their ids."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

PATIENCE = 10.0
"""Seconds from SIGTERM to SIGKILL."""


@dataclass(frozen=True, slots=True)
class Started:
    """A process with its log."""

    process: subprocess.Popen[bytes]
    log: Path

    @classmethod
    def of(cls, command: Sequence[str], env: Mapping[str, str], log: Path) -> Started:
        """Start `command` in the folder of its log; output is appended to the log."""
        with log.open("ab") as file:
            process = subprocess.Popen(
                command,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                cwd=log.parent,
                start_new_session=True,
            )
        return cls(process, log)

    @property
    def pid(self) -> int:
        """The id of the process and of its group."""
        return self.process.pid

    def is_up(self) -> bool:
        """Whether it still runs."""
        return self.process.poll() is None

    def signal(self, how: signal.Signals) -> None:
        """Send a signal to the whole group, unless it has ended."""
        with contextlib.suppress(ProcessLookupError):
            if self.is_up():
                os.killpg(self.pid, how)


def stop_all(started: Sequence[Started], patience: float = PATIENCE) -> None:
    """Stop the processes: SIGTERM first, SIGKILL for those still running after `patience`."""
    for how, seconds in ((signal.SIGTERM, patience), (signal.SIGKILL, 60.0)):
        for each in started:
            each.signal(how)
        for each in started:
            with contextlib.suppress(subprocess.TimeoutExpired):
                each.process.wait(seconds)


def stop_on_sigterm() -> None:
    """Exit on SIGTERM, so that `finally` blocks run and stop child processes.

    Call it in a script that uses `LocalCluster`; Python ends without them otherwise.

    >>> stop_on_sigterm()  # doctest: +SKIP
    """
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))


def free_port() -> int:
    """A free port of the loopback interface."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_until(
    ready: Callable[[], bool], what: str, started: Sequence[Started], seconds: float = 240
) -> None:
    """Wait for `ready`; give up as soon as one of the processes it needs has ended."""
    end = time.monotonic() + seconds
    while not ready():
        for each in started:
            if not each.is_up():
                raise ChildProcessError(f"{what} ended while it was starting: see {each.log}")
        if time.monotonic() > end:
            raise TimeoutError(f"{what} did not come up in {seconds:.0f} s: see {each.log.parent}")
        time.sleep(0.2)
