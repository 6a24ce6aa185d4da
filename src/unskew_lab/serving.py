"""A task that runs as long as a stream and works off the rows that it is sent, first come first
served: an instance of an operator, as the paper on proactive shuffle grouping has it.

Work is slept. A sleep takes longer than asked, and so does what is counted between two rows, so a
row of those that wait begins when the one before it should have ended: at full load an error that
adds up would decide everything.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Client, Connection
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unskew.partitioners import Proactive
from unskew.partitioners.cost_messages import CostMessage, TimeRequest
from unskew.partitioners.cost_tracking import CostTracker

Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Place:
    """An instance: whose rows it works off, its number, and what it learns if that is asked for."""

    scheme: str
    worker: int
    posg: Proactive | None = None

    def tracker(self) -> CostTracker | None:
        """The memory of its costs."""
        return None if self.posg is None else self.posg.tracker(self.worker)


@dataclass(frozen=True, slots=True, eq=False)
class Sent:
    """Rows on their way to an instance."""

    rows: NDArray[np.int64]
    """Their numbers in the stream."""
    keys: NDArray[np.uint64]
    costs: NDArray[np.float64]
    """In seconds, on this instance."""
    requests: dict[int, TimeRequest]
    """By the number of the row that carries it."""


@dataclass(frozen=True, slots=True, eq=False)
class Done:
    """Rows that an instance has worked off, and when, in seconds since the stream began."""

    rows: NDArray[np.int64]
    finish: NDArray[np.float64]


def serve(address: Address, secret: bytes, place: Place) -> int:
    """Work rows off until there are no more; returns how many there were."""
    warm(place)
    with Client(address, authkey=secret) as connection:
        connection.send(place)
        inbox: SimpleQueue[tuple[float, Any]] = SimpleQueue()
        threading.Thread(target=_listen, args=(connection, inbox), daemon=True).start()
        _, began = inbox.get()
        done = 0
        for message in _worked(inbox, began, place.tracker()):
            done += message.rows.size if isinstance(message, Done) else 0
            connection.send(message)
        connection.send(None)
    return done


def warm(place: Place) -> None:
    """Compile, or load, what the first rows would wait for."""
    if place.posg is not None:
        tracker = CostTracker(place.worker, 1, 1e9, place.posg.shape)
        tracker.execute(np.zeros(4, dtype=np.uint64), np.ones(4))


def _listen(connection: Connection, inbox: SimpleQueue[tuple[float, Any]]) -> None:
    """Rows wait here with when they came: in the connection they would stop the source."""
    while True:
        message = connection.recv()
        inbox.put((time.time(), message))
        if message is None:
            return


def _worked(
    inbox: SimpleQueue[tuple[float, Any]], began: float, tracker: CostTracker | None
) -> Iterator[Done | Sequence[CostMessage]]:
    due = 0.0
    while True:
        came, sent = inbox.get()
        if sent is None:
            return
        finish = np.empty(sent.rows.size)
        for at, row in enumerate(sent.rows.tolist()):
            begin = max(came - began, due)
            due = begin + float(sent.costs[at])
            time.sleep(max(0.0, due - (time.time() - began)))
            finish[at] = time.time() - began
            if tracker is not None:
                told = _told(tracker, sent, at, row, begin, float(finish[at]))
                if told:
                    yield told
        yield Done(sent.rows, finish)


def _told(
    tracker: CostTracker, sent: Sent, at: int, row: int, begin: float, now: float
) -> list[CostMessage]:
    """What the instance has to say after a row."""
    costs = np.array([max(now - begin, 1e-9)])
    told: list[CostMessage] = list(tracker.execute(sent.keys[at : at + 1], costs))
    if row in sent.requests:
        told.append(tracker.reply(sent.requests[row], now))
    return told
