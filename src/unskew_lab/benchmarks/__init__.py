"""Benchmarks of speed, as ratios within one run: `unskew bench`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from unskew_lab.benchmarks import (
    costs,
    groups,
    nightly,
    planners,
    regret,
    routers,
    simulator,
    spark_gain,
    spark_overhead,
    streaming,
)
from unskew_lab.benchmarks.measuring import Measurement


@dataclass(frozen=True)
class Asked:
    """What a benchmark may be given."""

    data: Path | None = None
    """A folder of real streams."""
    jobs: tuple[str, ...] = ()
    """Parts of the names of the jobs, or of the parts of `streaming`, to run; all if none."""
    seconds: float = 30.0
    """Of work for each slot, where a benchmark draws rows of different costs."""
    deals: int = 5
    """How often it deals these rows to files at random."""
    scale: int = 1
    """How many times the rows of the jobs of `regret`."""


ALL: dict[str, Callable[[Asked], Iterable[Measurement]]] = {
    "routers": lambda _: routers.run(),
    "simulator": lambda _: simulator.run(),
    "planners": lambda _: planners.run(),
    "costs": lambda asked: costs.run(asked.jobs, asked.seconds, asked.deals),
    "groups": lambda _: groups.run(),
    "spark": lambda asked: chain(spark_overhead.run(), spark_gain.run(asked.data)),
    "regret": lambda asked: regret.run(asked.data, asked.jobs, asked.scale),
    "nightly": lambda _: nightly.run(),
    "streaming": lambda asked: streaming.run(asked.jobs),
}
"""Every benchmark by its name."""

WITHOUT_SPARK = frozenset({"routers", "simulator", "planners"})

__all__ = ["ALL", "WITHOUT_SPARK", "Asked", "Measurement"]
