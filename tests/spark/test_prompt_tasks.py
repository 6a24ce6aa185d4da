"""Tasks acknowledge what Spark sends them, and touch no other connection of the process."""

from __future__ import annotations

import contextlib
import gc
import socket
import sys

import pytest

from unskew._spark.frames import prompt_tasks
from unskew._spark.frames.prompt_tasks import Prompt, acknowledge_at_once, be_prompt, no_garbage

linux = pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such setting")


@contextlib.contextmanager
def connection():
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.create_connection(server.getsockname()) as here,
        server.accept()[0] as there,
    ):
        yield here, there


def quick(found: socket.socket) -> int:
    return found.getsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK)


@linux
def test_connections_of_this_machine_acknowledge_at_once():
    with connection() as ends:
        for end in ends:
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
        acknowledge_at_once()
        assert [quick(end) for end in ends] == [1, 1]
        ends[0].sendall(b"still open")
        assert ends[1].recv(10) == b"still open"


def searched(candidate: object) -> bool:
    """Whether a search for garbage looks at the object: frozen objects are not in the list."""
    return any(found is candidate for found in gc.get_objects())


def test_loaded_modules_are_searched_for_garbage_once(monkeypatch):
    monkeypatch.setattr(prompt_tasks, "_modules", 0)
    loaded = [object]
    try:
        be_prompt()
        assert not searched(loaded)
        made = [loaded]
        be_prompt()
        assert searched(made)
        monkeypatch.setitem(sys.modules, "a module that a function loads", sys)
        be_prompt()
        assert not searched(made)
    finally:
        gc.unfreeze()


def test_garbage_is_searched_for_again_afterwards():
    seen = []

    @no_garbage()
    def fails():
        seen.append(gc.isenabled())
        raise ValueError("inside")

    with pytest.raises(ValueError, match="inside"):
        fails()
    assert (seen, gc.isenabled()) == ([False], True)


@linux
def test_a_task_acknowledges_before_it_reads():
    with connection() as (here, _):
        here.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)

        def reading():
            yield quick(here)

        assert list(Prompt(lambda batches: batches)(reading())) == [1]


def test_sockets_of_other_kinds_and_closed_files_do_no_harm():
    left, right = socket.socketpair()
    with left, right, socket.socket() as unconnected:
        acknowledge_at_once()
        left.sendall(b"x")
        assert right.recv(1) == b"x"
        assert unconnected.fileno() >= 0
