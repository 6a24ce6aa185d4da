"""Emulated work: sleeping, longer on a slow machine, so that it needs no cores."""

from __future__ import annotations

import os
import time
from pathlib import Path

SPEED_FILE = "UNSKEW_SPEED_FILE"
"""The environment variable by which the processes of a machine find its speed."""


def machine_speed() -> float:
    """How fast this machine is; 1 unless a `LocalCluster` says otherwise.

    >>> machine_speed()
    1.0
    """
    path = os.environ.get(SPEED_FILE)
    return 1.0 if path is None else float(Path(path).read_text())


def emulated_work(seconds: float) -> None:
    """Take as long as `seconds` of work take on this machine, without using a core.

    The speed is read at every call, so a machine that turns slow is slow at once.
    """
    time.sleep(seconds / machine_speed())
