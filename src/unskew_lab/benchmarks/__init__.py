"""Benchmarks of speed, as ratios within one run: `unskew bench`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import chain
from pathlib import Path

from unskew_lab.benchmarks import (
    groups,
    planners,
    posg,
    routers,
    simulator,
    spark_gain,
    spark_overhead,
    streaming_machines,
    streaming_mergeable,
    streaming_stateful,
)
from unskew_lab.benchmarks.measuring import Measurement

ALL: dict[str, Callable[[Path | None], Iterable[Measurement]]] = {
    "routers": lambda _: routers.run(),
    "simulator": lambda _: simulator.run(),
    "planners": lambda _: planners.run(),
    "posg": lambda _: posg.run(),
    "groups": lambda _: groups.run(),
    "spark": lambda data: chain(spark_overhead.run(), spark_gain.run(data)),
    "streaming": lambda _: chain(
        streaming_mergeable.run(), streaming_stateful.run(), streaming_machines.run()
    ),
}
"""Every benchmark by its name, given a folder of real streams if there is one."""

WITHOUT_SPARK = frozenset({"routers", "simulator", "planners"})

__all__ = ["ALL", "WITHOUT_SPARK", "Measurement"]
