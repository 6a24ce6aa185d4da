"""What Spark does about skew by itself, and what to type where that is not enough."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from pyspark.sql import DataFrame

from unskew._spark.frames.physical_plan import is_true
from unskew._spark.planning.choice import choose
from unskew._spark.planning.forecast import forecast
from unskew._spark.planning.settings import PlanSettings
from unskew._spark.planning.statistics import KeyProfile
from unskew.partitioners import KeyGrouping, Need


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A scheme, the reason, and the line of code."""

    scheme: str
    why: str
    code: str
    whole_key: str
    """The same for work that needs all rows of a key together."""


def recommend(profile: KeyProfile, columns: Sequence[str]) -> Recommendation:
    """What to do about these keys."""
    merging = choose(profile, Need.MERGEABLE, "auto", PlanSettings())
    whole = choose(profile, Need.WHOLE_KEY, "auto", PlanSettings())
    key = json.dumps(columns[0] if len(columns) == 1 else list(columns), ensure_ascii=False)
    grouped = f"unskew.groupBy(df, {key}, workers={profile.workers})"
    code = (
        f"df.groupBy({key})  # plain Spark"
        if merging.plain
        else f"{grouped}.applyInArrow(fn, schema, merge=merge_fn)"
    )
    return Recommendation(merging.partitioner.scheme, merging.why, code, whole.why)


def what_spark_does(rows: DataFrame, profile: KeyProfile) -> tuple[str, ...]:
    """How plain Spark would fare, in sentences."""
    expected = forecast(profile, KeyGrouping(profile.workers)).max_over_mean
    said = [
        "Sums, counts and other built-in aggregates are combined before the shuffle: skew hardly "
        "matters to them.",
        f"Functions of a group (applyInPandas, applyInArrow, cogroup) run a key in one task: the "
        f"slowest of {profile.workers} tasks gets about {expected:.2f} times the mean.",
    ]
    return (*said, _joins(rows, profile))


def _joins(rows: DataFrame, profile: KeyProfile) -> str:
    switches = ("spark.sql.adaptive.enabled", "spark.sql.adaptive.skewJoin.enabled")
    off = [name for name in switches if not is_true(rows, name)]
    if off:
        return f"Joins are not split: {' and '.join(off)} is off."
    factor = float(
        str(rows.sparkSession.conf.get("spark.sql.adaptive.skewJoin.skewedPartitionFactor"))
    )
    middle = max(float(np.median(profile.loads)), 1.0)
    highest = float(profile.loads.max(initial=0.0)) / middle
    if highest > factor:
        return (
            f"AQE may split the largest partition of an inner or outer join ({highest:.1f} times "
            f"the median, the factor is {factor:g}), if it also passes the byte threshold and came "
            "from several tasks; never that of a full outer join or of a group."
        )
    return (
        f"AQE leaves joins alone: the largest partition is {highest:.1f} times the median, and "
        f"only those above {factor:g} times count as skewed."
    )
