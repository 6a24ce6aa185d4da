"""How rows are spread over tasks: by the papers' schemes, by ours, and by Spark itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from unskew_lab.cluster.machines import WORKERS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

VIRTUAL = 5
"""Virtual workers per worker, where machines differ: each is a task, and slots take the next one
when they are free."""

MANY = 10 * WORKERS


@dataclass(frozen=True, slots=True)
class Placement:
    """A way to place rows, with the settings it needs; with `splits`, partial counts are merged."""

    place: Callable[[DataFrame], DataFrame]
    splits: bool
    settings: dict[str, str] = field(default_factory=dict)


def _by(scheme: str, workers: int = WORKERS) -> Callable[[DataFrame], DataFrame]:
    def place(rows: DataFrame) -> DataFrame:
        import unskew

        return unskew.repartition(rows, "key", workers, scheme=scheme, need="mergeable")

    return place


_REBALANCE = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.adaptive.optimizeSkewsInRebalancePartitions.enabled": "true",
    "spark.sql.adaptive.coalescePartitions.minPartitionSize": "1k",
}


def _rebalance(rows: DataFrame) -> DataFrame:
    """AQE splits partitions above the advised size, which `counting` sets to fit the slots."""
    from pyspark.sql import functions as F

    return rows.hint("rebalance", WORKERS, F.col("key"))


PLACEMENTS: dict[str, Placement] = {
    "KG": Placement(lambda rows: rows.repartition(WORKERS, "key"), splits=False),
    "PKG": Placement(_by("pkg"), splits=True),
    "CG": Placement(_by("cg"), splits=True),
    # Consistent grouping with one virtual worker for each task is power of random choices.
    "CG, virtual workers as tasks": Placement(_by("porc", WORKERS * VIRTUAL), splits=True),
    "SG": Placement(lambda rows: rows.repartition(WORKERS), splits=True),
    "planned split": Placement(_by("planned-split"), splits=True),
    "planned split, small tasks": Placement(_by("planned-split", WORKERS * VIRTUAL), splits=True),
    "Spark: more partitions": Placement(lambda rows: rows.repartition(MANY, "key"), splits=False),
    "Spark: small tasks in turn": Placement(lambda rows: rows.repartition(WORKERS * VIRTUAL), True),
    "Spark: AQE rebalance": Placement(_rebalance, splits=True, settings=_REBALANCE),
}
"""KG is plain Spark's hashing. `in turn` is Spark's round robin."""

OURS = ("CG", "CG, virtual workers as tasks", "planned split", "planned split, small tasks")
SPARKS = ("Spark: more partitions", "Spark: small tasks in turn", "Spark: AQE rebalance", "SG")
"""What plain Spark can do where partial results merge."""
