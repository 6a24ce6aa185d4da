"""Speed, as ratios within one run: `evenkeel bench`."""

from __future__ import annotations

from collections.abc import Callable

from evenkeel.benchmarks import planners, posg, routers, simulator, spark_gain, spark_overhead
from evenkeel.benchmarks.measuring import Row

ALL: dict[str, Callable[[], list[Row]]] = {
    "routers": routers.run,
    "simulator": simulator.run,
    "planners": planners.run,
    "posg": posg.run,
    "spark": lambda: [*spark_overhead.run(), *spark_gain.run()],
}
"""Every benchmark by its name."""

__all__ = ["ALL", "Row"]
