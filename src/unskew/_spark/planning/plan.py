"""A plan: a routing decision made from statistics, to be looked at, kept and applied."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from unskew._spark.frames.keys import content_hash, key_columns, key_hash
from unskew._spark.frames.physical_plan import checksums_are_on, is_replayable
from unskew._spark.planning.choice import check_legal, choose
from unskew._spark.planning.explaining import routing_in_words
from unskew._spark.planning.forecast import Forecast, forecast
from unskew._spark.planning.statistics import KeyProfile, check_table, profile_keys
from unskew._spark.routing.placement import place_by
from unskew._spark.routing.worker_column import Draw, Lowering, is_pure, lowered, with_worker
from unskew.errors import InputError, ParameterError
from unskew.partitioners import Need, Partitioner, PlannedSplit
from unskew.partitioners.contract import check_epsilon, check_workers, need_named
from unskew.partitioners.serialization import from_json, to_json
from unskew.partitioners.split_planning import TABLE

_log = logging.getLogger("unskew")

_DRAW_COST = 0.015
"""How much imbalance drawing parts by hash may add before each task counts its rows instead."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How rows are routed, why, and what comes of it."""

    key: tuple[str, ...]
    partitioner: Partitioner
    need: Need
    why: str
    plain: bool
    """Whether plain Spark is as good: verbs then leave the work to it."""
    lowering: Lowering
    draw: Draw
    rows: int
    forecast: Forecast
    statistics: str
    """How the frequencies were measured."""

    @property
    def workers(self) -> int:
        """How many workers the rows are spread over."""
        return self.partitioner.workers

    def apply(self, rows: DataFrame) -> DataFrame:
        """Place each row on its worker's partition; the columns stay as they are."""
        return place_by(rows, self.key, self.partitioner, lowering=self.lowering, draw=self.draw)

    def with_worker(self, rows: DataFrame, name: str | None = None) -> DataFrame:
        """Add the worker of each row as a column, without moving any."""
        return with_worker(
            rows, self.key, self.partitioner, name=name, lowering=self.lowering, draw=self.draw
        )

    def explain(self) -> None:
        """Print the scheme, the reason, the forecast and the routing."""
        print(self)

    def __str__(self) -> str:
        expected = self.forecast
        return "\n".join(
            [
                f"scheme    {self.partitioner.scheme} for {self.need.value} work "
                f"by {', '.join(self.key)}",
                f"reason    {self.why}",
                f"forecast  max/mean {expected.max_over_mean:.3f} (+{expected.uncertainty:.3f}), "
                f"{expected.replicas:,} replicas on {self.workers} workers",
                f"measured  {self.rows:,} rows by {self.statistics}",
                f"runs      {self.lowering}"
                + ("" if is_pure(self.partitioner, self.draw) else f", drawn by {self.draw}"),
                *routing_in_words(self.partitioner),
            ]
        )

    def to_json(self) -> str:
        """The plan as JSON; `Plan.from_json` reads it back."""
        document = {name: getattr(self, name) for name in self.__slots__}
        document["partitioner"] = json.loads(to_json(self.partitioner))
        document["need"] = self.need.value
        document["forecast"] = asdict(self.forecast)
        return json.dumps(document)

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """The plan that `to_json` wrote."""
        try:
            document: dict[str, Any] = json.loads(text)
            document["key"] = tuple(document["key"])
            document["partitioner"] = from_json(json.dumps(document["partitioner"]))
            document["need"] = Need(document["need"])
            document["forecast"] = Forecast(**document["forecast"])
            return cls(**document)
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(
                f"this is no plan as to_json writes it ({type(error).__name__}: {error}); "
                "make it anew with plan(...)"
            ) from error


def plan(
    rows: DataFrame,
    key: str | Sequence[str],
    workers: int | None = None,
    *,
    need: Need | str = Need.MERGEABLE,
    scheme: str = "auto",
    capacities: Sequence[float] | None = None,
    epsilon: float = 0.005,
    table: int = TABLE,
    sample: float | None = None,
) -> Plan:
    """Measure the keys of `rows` in one pass and decide how to spread them over `workers`.

    Parameters
    ----------
    rows : DataFrame
        The rows, or others with keys like theirs.
    key : str or list of str
        The column or columns that the rows are grouped by.
    workers : int, optional
        How many partitions there will be; the shuffle partitions of the session if not given.
    need : Need or {"whole-key", "mergeable", "any-row"}
        What the work asks of the rows of one key; schemes that do not keep it are refused.
    scheme : str
        The name of a scheme; "auto" picks by need and skew, and says why.
    capacities : list of float, optional
        The relative speed of each worker; all alike if not given.
    epsilon : float
        How much a worker may have above its fair share.
    table : int
        The most keys that are routed by name; all others go by their hash.
    sample : float, optional
        Share of the rows to read, above 0 and at most 1; all if not given.

    Returns
    -------
    Plan
        With `explain()`, `apply(rows)`, `with_worker(rows)`, `to_json()`.
    """
    columns = key_columns(rows, key)
    workers = default_workers(rows) if workers is None else workers
    check_workers(workers)
    check_epsilon(epsilon)
    check_table(table)
    wanted = need_named(need)
    if scheme != "auto":
        check_legal(scheme, wanted)
    speeds = _speeds(capacities, workers)
    profile = profile_keys(rows, columns, workers, sample)
    return plan_from(rows, columns, profile, wanted, scheme, speeds, epsilon, table)


def plan_from(
    rows: DataFrame,
    columns: Sequence[str],
    profile: KeyProfile,
    need: Need,
    scheme: str = "auto",
    capacities: np.ndarray[Any, np.dtype[np.float64]] | None = None,
    epsilon: float = 0.005,
    table: int = TABLE,
) -> Plan:
    """Decide from statistics that are there already."""
    choice = choose(profile, need, scheme, capacities, epsilon, table)
    lowering, draw = _how(rows, columns, profile, choice.partitioner)
    expected = forecast(profile, choice.partitioner, capacities, drawn=lowering == "native")
    _log.info("%s: %s", choice.partitioner.scheme, choice.why)
    return Plan(
        tuple(columns),
        choice.partitioner,
        need,
        choice.why,
        choice.plain,
        lowering,
        draw,
        profile.rows,
        expected,
        profile.method,
    )


def default_workers(rows: DataFrame) -> int:
    """As many workers as a shuffle of this session has partitions."""
    return int(str(rows.sparkSession.conf.get("spark.sql.shuffle.partitions")))


def _speeds(
    capacities: Sequence[float] | None, workers: int
) -> np.ndarray[Any, np.dtype[np.float64]] | None:
    if capacities is None:
        return None
    try:
        speeds = np.asarray(capacities, dtype=np.float64)
    except (TypeError, ValueError):
        speeds = np.empty(0)
    if speeds.shape != (workers,) or not ((speeds > 0) & np.isfinite(speeds)).all():
        raise ParameterError(
            f"capacities={capacities!r} must be {workers} numbers above 0, one for each worker"
        )
    return speeds


def _how(
    rows: DataFrame, columns: Sequence[str], profile: KeyProfile, partitioner: Partitioner
) -> tuple[Lowering, Draw]:
    """Natively, unless the luck of the draw would show: then each task counts its rows."""
    if lowered(partitioner) == "online":
        return "online", "content"
    if not isinstance(partitioner, PlannedSplit) or partitioner.need is Need.WHOLE_KEY:
        return "native", "content"
    repeatable = is_replayable(rows)
    noisy = (
        forecast(profile, partitioner, drawn=True).max_over_mean
        > forecast(profile, partitioner).max_over_mean + _DRAW_COST
    )
    if noisy and (repeatable or checksums_are_on(rows)):
        return "online", "content"
    if _rows_differ(rows, columns, partitioner):
        return "native", "content"
    if repeatable or checksums_are_on(rows):
        return "native", "position"
    _log.warning(
        "rows of the split keys are alike and come out of a shuffle: their shares may be uneven"
    )
    return "native", "content"


def _rows_differ(rows: DataFrame, columns: Sequence[str], split: PlannedSplit) -> bool:
    """Whether the first rows of the keys that are cut can be told apart by their content."""
    cut = split.keys if split.cut is None else split.cut
    hashed = key_hash(rows, columns)
    first = rows.select(hashed.alias("key"), content_hash(rows).alias("content"))
    seen = (
        first.where(F.col("key").isin(cut.view(np.int64).tolist()))
        .limit(20_000)
        .groupBy("key")
        .agg(F.count(F.lit(1)).alias("rows"), F.count_distinct("content").alias("different"))
        .collect()
    )
    return all(row["different"] >= 0.9 * row["rows"] for row in seen)
