"""`join` as in PySpark, with hot keys split on one side and copied to their parts on the other.

A row of the split side is on exactly one worker, and all rows of its key from the other side are
copied there, so every pair of rows meets exactly once. Outer joins add one danger: a copied row
may find no partner on one worker and have them all on another. Which keys the split side really
has is therefore looked up while the join runs; a row whose key is there is dropped wherever it
finds no partner, and a row whose key is not there is never copied.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from unskew._spark.frames.keys import check_rows, column, key_columns
from unskew._spark.frames.physical_plan import physical_plan
from unskew._spark.planning.join_planning import JoinRoutes, check_join_scheme, join_routes
from unskew._spark.planning.pairs import same_types
from unskew._spark.planning.plan import Plan
from unskew._spark.planning.request import Wish
from unskew._spark.routing.placement import place
from unskew._spark.routing.worker_column import WORKER, free_name
from unskew._spark.verbs.join_sides import Side
from unskew.errors import KeyTypeError, ParameterError, UnknownNameError

_log = logging.getLogger("unskew")

_KINDS = {
    "inner": "inner",
    "left": "left",
    "leftouter": "left",
    "right": "right",
    "rightouter": "right",
    "full": "full",
    "outer": "full",
    "fullouter": "full",
    "semi": "semi",
    "leftsemi": "semi",
    "anti": "anti",
    "leftanti": "anti",
}
_PRESERVED = {"inner": "", "left": "l", "right": "r", "full": "lr", "semi": "", "anti": "l"}
_MATCH = "__unskew_match"


def join(
    left: DataFrame,
    right: DataFrame,
    on: str | Sequence[str],
    how: str = "inner",
    *,
    workers: int | None = None,
    scheme: str | Plan = "auto",
    **settings: Any,
) -> DataFrame:
    """Join by equal columns `on`: Spark's result, with hot keys spread over the workers.

    Parameters
    ----------
    left, right : DataFrame
        The two sides.
    on : str or list of str
        Columns that both have.
    how : str
        inner, left, right, full, semi or anti, or another of Spark's names for these.
    workers : int, optional
        How many partitions to join on; the shuffle partitions of the session if not given.
    scheme : str or Plan
        With "auto", both sides are read once for their keys' frequencies, unless Spark would
        broadcast one of them; the join is left to Spark where hashing keeps the workers level.
        "planned-split" always splits; schemes that keep keys whole send both sides by the same
        route.
    **settings
        What `plan` takes: epsilon, table, sample.

    Returns
    -------
    DataFrame
        The rows of `left.join(right, on, how)`, in any order.
    """
    check_rows("left", left)
    check_rows("right", right)
    kind = _kind(how)
    wish = Wish(workers, scheme, settings)
    keys = _checked_keys(left, right, on)
    check_join_scheme(wish)
    if not same_types(left, keys, right, keys):
        return _different_types(left, right, keys, kind, wish)
    if wish.scheme == "auto" and "BroadcastHashJoin" in physical_plan(
        _plain(left, right, keys, kind)
    ):
        _log.info("plain Spark: it broadcasts one side of the join")
        return _plain(left, right, keys, kind)
    if kind in ("semi", "anti"):
        # What the right side has more of each key changes nothing; without it, nothing is hot.
        right = right.select(*map(column, keys)).distinct()
    routes = join_routes(left, right, keys, wish, right_may_split=kind not in ("semi", "anti"))
    if routes is None:
        return _plain(left, right, keys, kind)
    return _joined(left, right, keys, kind, routes)


def _joined(
    left: DataFrame, right: DataFrame, keys: list[str], kind: str, routes: JoinRoutes
) -> DataFrame:
    worker = free_name(right, free_name(left, WORKER))
    preserved = _PRESERVED[kind]
    here = Side(left, keys, routes.left, "l" in preserved, f"{_MATCH}_left")
    there = Side(right, keys, routes.right, "r" in preserved, f"{_MATCH}_right")
    placed = [
        place(side.routed(worker, other.rows), worker, routes.workers)
        for side, other in ((here, there), (there, here))
    ]
    how = {"semi": "inner", "anti": "left"}.get(kind, kind)
    both = placed[0].join(placed[1], [*keys, worker], how)
    lonely = _lonely(here, there) | _lonely(there, here)
    if kind == "anti":
        lonely = lonely | F.col(there.mark).isNotNull()
    return both.where(~lonely).drop(worker, here.mark, there.mark)


def _lonely(side: Side, other: Side) -> Column:
    """A copy that found no partner here, of a row that has partners elsewhere."""
    return F.coalesce(F.col(side.mark), F.lit(False)) & F.col(other.mark).isNull()


def _plain(left: DataFrame, right: DataFrame, keys: list[str], kind: str) -> DataFrame:
    return left.join(right, keys, kind)


def _different_types(
    left: DataFrame, right: DataFrame, keys: list[str], kind: str, wish: Wish
) -> DataFrame:
    if wish.scheme != "auto":
        raise KeyTypeError(
            f"{', '.join(keys)}: the types differ between left and right, and equal keys would "
            "have different hashes; cast one side"
        )
    _log.info("plain Spark: the key's types differ between left and right")
    return _plain(left, right, keys, kind)


def _kind(how: str) -> str:
    kind = _KINDS.get(str(how).lower().replace("_", ""))
    if kind is None:
        raise UnknownNameError("join", how, set(_KINDS.values()))
    return kind


def _checked_keys(left: DataFrame, right: DataFrame, on: str | Sequence[str]) -> list[str]:
    names = [on] if isinstance(on, str) else on
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise ParameterError(
            "join takes the names of columns that both sides have; rename one side's with "
            "withColumnRenamed where they differ"
        )
    for side in (left, right):
        key_columns(side, names)
    return list(names)
