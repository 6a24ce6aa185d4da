"""Two DataFrames with one key: the same hash, the same statistics, the same route."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql.types import DataType

from unskew._spark.frames.keys import key_columns
from unskew._spark.planning.plan import Plan, default_workers, plan_from
from unskew._spark.planning.request import MEASURED, Route, Wish
from unskew._spark.planning.statistics import KeyProfile, profile_keys
from unskew.errors import KeyTypeError
from unskew.partitioners import Need
from unskew.partitioners.serialization import build


def same_types(
    left: DataFrame, here: Sequence[str], right: DataFrame, there: Sequence[str]
) -> bool:
    """Whether equal keys of both sides have equal hashes."""
    return all(
        _plain_type(left, mine) == _plain_type(right, theirs)
        for mine, theirs in zip(here, there, strict=True)
    )


def check_same_types(
    left: DataFrame, here: Sequence[str], right: DataFrame, there: Sequence[str]
) -> None:
    """Refuse keys of different types: 1 as INT and as BIGINT have different hashes."""
    for mine, theirs in zip(here, there, strict=True):
        kinds = _plain_type(left, mine), _plain_type(right, theirs)
        if kinds[0] != kinds[1]:
            raise KeyTypeError(
                f"column {mine!r} is {kinds[0]} on the left and {theirs!r} is {kinds[1]} on the "
                "right; cast one of them"
            )


def _plain_type(rows: DataFrame, name: str) -> str:
    """The type without nullability, which does not touch the hash."""
    [found] = [field.dataType for field in rows.select(f"`{name.replace('`', '``')}`").schema]
    kind: DataType = found
    return kind.simpleString()


def route_both(
    left: DataFrame, right: DataFrame, here: Sequence[str], there: Sequence[str], wish: Wish
) -> tuple[Route, Route]:
    """One partitioner for whole keys of both sides, drawn up from the rows of both."""
    key_columns(left, here), key_columns(right, there)
    scheme = wish.scheme
    if isinstance(scheme, Plan) or scheme not in MEASURED:
        workers = default_workers(left) if wish.workers is None else wish.workers
        partitioner = scheme.partitioner if isinstance(scheme, Plan) else build(scheme, workers)
        return Route(tuple(here), partitioner), Route(tuple(there), partitioner)
    workers = default_workers(left) if wish.workers is None else wish.workers
    sample = wish.settings.get("sample")
    both = together(
        profile_keys(left, here, workers, sample), profile_keys(right, there, workers, sample)
    )
    settings = {name: value for name, value in wish.settings.items() if name != "sample"}
    made = plan_from(left, here, both, Need.WHOLE_KEY, scheme, **settings)
    return (
        Route(tuple(here), made.partitioner, plain=made.plain),
        Route(tuple(there), made.partitioner, plain=made.plain),
    )


def together(one: KeyProfile, other: KeyProfile) -> KeyProfile:
    """The statistics of the rows of both."""
    keys, where = np.unique(np.concatenate([one.keys, other.keys]), return_inverse=True)
    counts = np.zeros(keys.size)
    np.add.at(counts, where, np.concatenate([one.counts, other.counts]))
    order = np.lexsort((keys, -counts))
    return KeyProfile(
        one.workers,
        one.rows + other.rows,
        max(one.distinct, other.distinct),
        one.nulls + other.nulls,
        one.loads + other.loads,
        keys[order],
        counts[order],
        one.error + other.error,
        f"{one.method}, of each side",
    )
