"""The sentence that says which way a job takes, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from unskew._spark.planning.ways import PLAIN, Way
from unskew.partitioners import KeyGrouping


class Timed(Protocol):
    """A way with what it is expected to take."""

    @property
    def name(self) -> str:
        """As `explain` lists it."""
        ...

    @property
    def seconds(self) -> float:
        """What it is expected to take."""
        ...


def expected(way: Timed, ways: Sequence[Timed], sparks: str = "Spark's own shuffle") -> str:
    """What a way takes, and how that compares to Spark's own."""
    text = f"{way.seconds:.1f} s expected"
    plain = next((each for each in ways if each.name == PLAIN), None)
    if plain is None or way.name == PLAIN:
        return text
    times = plain.seconds / max(way.seconds, 1e-9)
    if times < 1.05:
        return f"{text}, about as long as {sparks} ({plain.seconds:.1f} s)"
    return f"{text}, {times:.2g} × as quick as {sparks} ({plain.seconds:.1f} s)"


def because(way: Way, ways: Sequence[Way]) -> str:
    """What makes a way the quickest."""
    route = way.route
    if route.plain:
        return "no other way is quicker than Spark's own shuffle"
    static = route.partitioner.static
    if route.stays:
        merging = f", and their merge is spread over {route.workers} tasks"
        return "only partial results move" + (merging if route.merges else "")
    if static is None or isinstance(route.partitioner, KeyGrouping):
        packed = [each.tasks for each in ways if each.name == PLAIN and each.tasks < way.tasks]
        text = f"the work is on {way.tasks} tasks"
        return f"{text}, where Spark packs rows into {packed[0]}" if packed else text
    if static.cut.size:
        return f"{_keys(static.cut.size)} split over several tasks"
    return f"{_keys(static.table.keys.size)} placed where there is room"


def _keys(count: int) -> str:
    return "one heavy key is" if count == 1 else f"{count:,} heavy keys are"
