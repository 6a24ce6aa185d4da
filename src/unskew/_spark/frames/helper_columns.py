"""Names of helper columns: the only place that makes them."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import DataFrame


def helper_name(stem: str, *beside: DataFrame | Iterable[str]) -> str:
    """A column name that no column of `beside` has, also where Spark ignores case.

    `beside` are DataFrames or column names: all that may stand in one plan with the helper.
    Names for different stems differ, and the same input gives the same name on every start.

    >>> helper_name("worker", ["user", "word"])
    '__unskew_worker'
    >>> helper_name("worker", ["__UNSKEW_worker"], ["__unskew_worker_"])
    '__unskew_worker__'
    """
    taken = {_folded(name) for names in beside for name in _columns(names)}
    name = f"__unskew_{stem}"
    while _folded(name) in taken:
        name += "_"
    return name


def _columns(names: DataFrame | Iterable[str]) -> Iterable[str]:
    return names.columns if isinstance(names, DataFrame) else names


def _folded(name: str) -> str:
    # Java ignores case by way of upper case: a dotless i equals an i there.
    return name.upper().casefold()
