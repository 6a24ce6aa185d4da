"""The ways to spread rows over tasks: the papers' schemes, ours, and what Spark has itself."""

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
class Way:
    """How rows are placed, with the settings it needs; `splits`: parts of a key must be merged."""

    place: Callable[[DataFrame], DataFrame]
    splits: bool
    settings: dict[str, str] = field(default_factory=dict)


def _pkg(rows: DataFrame) -> DataFrame:
    from unskew._spark.routing.placement import place_by
    from unskew.partitioners import PartialKey

    return place_by(rows, "key", PartialKey(WORKERS))


def _cg(rows: DataFrame) -> DataFrame:
    from unskew._spark.routing.placement import place_by
    from unskew.partitioners import ConsistentGrouping

    return place_by(rows, "key", ConsistentGrouping(WORKERS))


def _virtual(rows: DataFrame) -> DataFrame:
    from unskew._spark.routing.placement import place_by
    from unskew.partitioners import ConsistentGrouping

    return place_by(rows, "key", ConsistentGrouping(WORKERS * VIRTUAL, virtual=1))


def _planned(workers: int) -> Callable[[DataFrame], DataFrame]:
    def place(rows: DataFrame) -> DataFrame:
        import unskew

        return unskew.plan(rows, "key", workers=workers, scheme="planned-split").apply(rows)

    return place


_REBALANCE = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.adaptive.optimizeSkewsInRebalancePartitions.enabled": "true",
    "spark.sql.adaptive.coalescePartitions.minPartitionSize": "1k",
}


def _rebalance(rows: DataFrame) -> DataFrame:
    """AQE cuts what is larger than the advised size, which we tell it to fit the slots."""
    from pyspark.sql import functions as F

    return rows.hint("rebalance", WORKERS, F.col("key"))


WAYS: dict[str, Way] = {
    "KG": Way(lambda rows: rows.repartition(WORKERS, "key"), splits=False),
    "PKG": Way(_pkg, splits=True),
    "CG": Way(_cg, splits=True),
    "CG, virtual workers as tasks": Way(_virtual, splits=True),
    "SG": Way(lambda rows: rows.repartition(WORKERS), splits=True),
    "planned split": Way(_planned(WORKERS), splits=True),
    "planned split, small tasks": Way(_planned(WORKERS * VIRTUAL), splits=True),
    "Spark: more partitions": Way(lambda rows: rows.repartition(MANY, "key"), splits=False),
    "Spark: small tasks in turn": Way(lambda rows: rows.repartition(WORKERS * VIRTUAL), True),
    "Spark: AQE rebalance": Way(_rebalance, splits=True, settings=_REBALANCE),
}
"""KG is plain Spark's hashing. `in turn` is Spark's round robin."""

OURS = ("CG", "CG, virtual workers as tasks", "planned split", "planned split, small tasks")
SPARKS = ("Spark: more partitions", "Spark: small tasks in turn", "Spark: AQE rebalance", "SG")
"""What plain Spark can do where partial results merge."""
