"""Tasks without two waits that Spark has in every Python task: together some 50 ms each.

**Acknowledgements.** Spark writes to a Python worker in several small pieces. TCP holds a piece
back until the one before is acknowledged, and the system of the worker waits up to 40 ms with that,
for an answer that could take it along. Here it is asked not to. Where Spark uses sockets of another
kind (`spark.python.unix.domain.socket.enabled`, fixed when a session starts) nothing waits.

**Garbage.** After every task a worker looks for garbage among all its objects, and most of them
belong to modules: pandas, Arrow, what the function imports. These are taken out of the search; what
tasks make is searched as before.
"""

from __future__ import annotations

import gc
import os
import socket
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark import TaskContext

_FILES = Path("/proc/self/fd")
_LOOPBACK = ("127.", "::1")

_task: int | None = None
"""The last task that was prompt in this process."""
_modules = 0
"""How many modules it had."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A function of `mapInArrow` or `mapInPandas` that has neither."""

    function: Callable[[Iterator[Any]], Iterator[Any]]

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        """What the function makes of the rows of a task."""
        be_prompt()
        return self.function(batches)


def be_prompt() -> None:
    """Called by a task before it reads its rows, and as often as it likes."""
    global _task, _modules
    context = TaskContext.get()
    task = None if context is None else context.taskAttemptId()
    if task is not None and task == _task:
        return
    _task = task
    acknowledge_at_once()
    if len(sys.modules) != _modules:
        gc.freeze()
        _modules = len(sys.modules)


@contextmanager
def no_garbage() -> Iterator[None]:
    """Around code that makes many objects and no cycles: searching them takes as long again."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def acknowledge_at_once() -> None:
    """Send what acknowledgements are due, on the connections of this process to its own machine."""
    if not hasattr(socket, "TCP_QUICKACK") or not _FILES.is_dir():
        return
    for file in [int(path.name) for path in _FILES.iterdir()]:
        try:
            # One of them was the folder itself, and is closed by now.
            if not stat.S_ISSOCK(os.fstat(file).st_mode):
                continue
            with closing(socket.socket(fileno=os.dup(file))) as found:
                if _is_ours(found):
                    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        except OSError:
            continue


def _is_ours(found: socket.socket) -> bool:
    tcp = found.family in (socket.AF_INET, socket.AF_INET6) and found.type == socket.SOCK_STREAM
    return tcp and str(found.getpeername()[0]).startswith(_LOOPBACK)
