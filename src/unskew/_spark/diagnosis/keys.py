"""Diagnosis of a key: its skew, a forecast for every scheme, and a recommendation."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql import DataFrame

from unskew._spark.frames.physical_plan import is_true
from unskew._spark.planning.choice import choose
from unskew._spark.planning.forecast import forecast
from unskew._spark.planning.key_names import in_words, values_of
from unskew._spark.planning.request import RoutingRequest
from unskew._spark.planning.settings import PlanSettings
from unskew._spark.planning.statistics import KeyProfile
from unskew._spark.routing.route import Route
from unskew.checking import check_whole
from unskew.errors import ParameterError
from unskew.partitioners import ALL, KeyGrouping, Need, need_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

_MOST_TOP = 1000
_NOT_FORECAST = ("offline-greedy", "posg", "full-knowledge")
"""The first is forecast as routing-table; for the others costs decide, not key frequencies."""


@dataclass(frozen=True, slots=True)
class TopKey:
    """One of the heaviest keys."""

    key: str
    rows: int
    share: float


@dataclass(frozen=True, slots=True)
class SchemeForecast:
    """The forecast of one scheme for these keys."""

    scheme: str
    need: str
    """The strongest guarantee that it gives."""
    max_over_mean: float
    uncertainty: float
    replicas: int
    makespan: float
    """How long the slowest worker takes, relative to a perfectly even spread of plain rows."""
    native: bool


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A scheme, the reason, and the line of code."""

    scheme: str
    why: str
    code: str
    whole_key: str
    """The reason for work that needs all rows of a key together."""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The skew of a key, a forecast for every scheme, and a recommendation."""

    key: tuple[str, ...]
    workers: int
    rows: int
    keys: int
    """Distinct keys, estimated."""
    nulls: int
    slope: float
    """The exponent of the Zipf law that fits the frequencies best; 0 for uniform keys."""
    top: tuple[TopKey, ...]
    schemes: tuple[SchemeForecast, ...]
    spark: tuple[str, ...]
    """What plain Spark does about the skew."""
    recommendation: Recommendation
    statistics: str
    """How the frequencies were measured."""

    def as_dict(self) -> dict[str, Any]:
        """The fields of `unskew diagnose --json`."""
        return asdict(self)

    def to_json(self) -> str:
        """The diagnosis as JSON."""
        return json.dumps(self.as_dict(), ensure_ascii=False)

    def to_pandas(self) -> pd.DataFrame:
        """The forecasts, a row for each scheme."""
        import pandas as pd

        return pd.DataFrame([asdict(scheme) for scheme in self.schemes])

    def to_html(self) -> str:
        """A self-contained page."""
        from unskew._spark.diagnosis.html import page

        return page(self)

    def _repr_html_(self) -> str:
        from unskew._spark.diagnosis.html import fragment

        return fragment(self)

    def show(self) -> None:
        """Print it as tables."""
        from unskew._spark.diagnosis.text import print_diagnosis

        print_diagnosis(self)

    def plot(self) -> Figure:
        """Draw the heaviest keys and the balance of every scheme (needs matplotlib)."""
        from unskew._spark.diagnosis.plot import draw

        return draw(self)


def diagnose(
    rows: DataFrame,
    key: str | Sequence[str],
    workers: int | None = None,
    *,
    sample: float | None = None,
    top: int = 20,
) -> Diagnosis:
    """Measure how skewed `key` is, and forecast the balance under each scheme.

    One pass gathers the statistics, a filter then looks up the values of the `top` keys.

    Parameters
    ----------
    rows : DataFrame
        A batch of rows; nothing is written.
    key : str or list of str
        The column or columns that the rows are grouped by.
    workers : int, optional
        How many workers to spread the rows over; if not given one for each slot of the session,
        or several if there are more bytes than these can take.
    sample : float, optional
        Share of the rows to read, above 0 and at most 1; all if not given.
    top : int
        How many of the heaviest keys to name.

    Returns
    -------
    Diagnosis
        With `show()`, `plot()`, `to_html()`, `to_pandas()`, `to_json()`.
    """
    request = RoutingRequest.of(
        rows, key, need=Need.MERGEABLE, workers=workers, settings={"sample": sample}
    )
    check_whole("top", top)
    if not 0 <= top <= _MOST_TOP:
        raise ParameterError(
            f"top={top} is not in 0..{_MOST_TOP} keys; use a smaller number, such as 20"
        )
    profile = request.profile()
    schemes = _forecasts(profile)
    return Diagnosis(
        request.key.names,
        request.workers,
        profile.rows,
        profile.distinct,
        profile.nulls,
        slope(profile),
        _top_keys(request, profile, top),
        schemes,
        what_spark_does(rows, profile),
        recommend(profile, request.key.names),
        profile.method,
    )


def slope(profile: KeyProfile) -> float:
    """The exponent of the Zipf law that fits the heavy keys; 0 for uniform keys."""
    counts = profile.counts[: max(10, min(profile.counts.size, 1000))]
    counts = counts[counts > 0]
    if counts.size < 2:
        return 0.0
    ranks = np.log(np.arange(1, counts.size + 1))
    # A rank r stands for the ranks up to the next measured one: the head weighs as the tail does.
    fit = np.polyfit(ranks, np.log(counts), 1, w=1 / np.sqrt(np.arange(1, counts.size + 1)))
    return max(0.0, -float(fit[0]))


def _forecasts(profile: KeyProfile) -> tuple[SchemeForecast, ...]:
    found = []
    for scheme in ALL:
        if scheme in _NOT_FORECAST:
            continue
        choice = choose(profile, need_of(scheme), scheme, PlanSettings())
        if choice.partitioner.coordinated:
            continue
        expected = forecast(profile, choice.partitioner)
        found.append(
            SchemeForecast(
                scheme,
                need_of(scheme).value,
                expected.max_over_mean,
                expected.uncertainty,
                expected.replicas,
                expected.max_over_mean,
                Route.of(choice.partitioner).lowering == "native",
            )
        )
    return tuple(found)


def _top_keys(request: RoutingRequest, profile: KeyProfile, top: int) -> tuple[TopKey, ...]:
    heaviest = profile.keys[:top].view(np.int64).tolist()
    if not heaviest:
        return ()
    values = values_of(request.rows, request.key, heaviest)
    return tuple(
        TopKey(in_words(values.get(hash_)), round(float(count)), float(count) / profile.rows)
        for hash_, count in zip(heaviest, profile.counts[:top], strict=True)
    )


def recommend(profile: KeyProfile, columns: Sequence[str]) -> Recommendation:
    """The recommendation for these keys."""
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
    """How plain Spark handles these keys, in sentences."""
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
        f"AQE does not split joins: the largest partition is {highest:.1f} times the median, and "
        f"only those above {factor:g} times count as skewed."
    )
