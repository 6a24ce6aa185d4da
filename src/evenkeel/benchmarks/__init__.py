"""Speed, as ratios within one run: `evenkeel bench`."""

from __future__ import annotations

from collections.abc import Callable

from evenkeel.benchmarks import planners, posg, routers, simulator, spark_overhead
from evenkeel.benchmarks.measuring import Row

ALL: dict[str, Callable[[], list[Row]]] = {
    "routers": routers.run,
    "simulator": simulator.run,
    "planners": planners.run,
    "posg": posg.run,
    "spark": spark_overhead.run,
}
"""Every benchmark by its name."""

__all__ = ["ALL", "Row"]
