"""The parts of `unskew bench streaming` by name, each in a session or cluster of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from unskew.errors import UnknownNameError
from unskew_lab.benchmarks import (
    streaming_balance,
    streaming_executors,
    streaming_machines,
    streaming_mergeable,
    streaming_stateful,
)
from unskew_lab.benchmarks.measuring import Measurement

PARTS: dict[str, Callable[[], Iterable[Measurement]]] = {
    "mergeable": streaming_mergeable.run,
    "fixed": streaming_stateful.fixed,
    "moves": streaming_stateful.moves,
    "lasting": streaming_stateful.lasting,
    "growth": streaming_stateful.growth,
    "balance": streaming_balance.run,
    "executors": streaming_executors.run,
    "machines": streaming_machines.run,
}


def run(names: Sequence[str] = ()) -> Iterator[Measurement]:
    """The parts whose name holds one of these texts; all if there are none."""
    chosen = [part for part in PARTS if not names or any(text in part for text in names)]
    if not chosen:
        raise UnknownNameError("part of streaming", " ".join(names), PARTS)
    for part in chosen:
        yield from PARTS[part]()
