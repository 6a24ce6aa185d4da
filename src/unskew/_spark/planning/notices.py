"""What was decided: one line where a user looks, and the whole plan behind a result."""

from __future__ import annotations

import builtins
import logging
import sys
from typing import Any, Protocol
from weakref import WeakKeyDictionary

from pyspark.sql import DataFrame

from unskew._spark.planning.run_time import took
from unskew.errors import ParameterError, ParameterTypeError

_log = logging.getLogger("unskew")

_silent = False


class Explained(Protocol):
    """A plan that can say what it does."""

    def explain(self) -> None:
        """Print it."""
        ...


_plans: WeakKeyDictionary[DataFrame, Explained] = WeakKeyDictionary()
_since: WeakKeyDictionary[DataFrame, int | None] = WeakKeyDictionary()


def tell(line: str) -> None:
    """Print a line in an interactive shell or notebook, and log it."""
    _log.info("%s", line)
    if not _silent and _is_interactive():
        print(f"unskew: {line}")


def verbose(on: bool = True) -> None:
    """Whether decisions are printed in interactive shells and notebooks; they are by default.

    Elsewhere they are logged only, by the logger "unskew" at level INFO.

    Parameters
    ----------
    on : bool
        False silences them.
    """
    global _silent
    if not isinstance(on, bool):
        raise ParameterTypeError("on", on, "True or False")
    _silent = not on


def explain(result: DataFrame) -> None:
    """Print how a DataFrame that a verb of unskew returned will run, and why.

    Once it has run (`collect`, a write), also how long that took, beside what was expected. Of a
    join or `repartition` that Spark runs by itself this is known only if the result is collected.

    Parameters
    ----------
    result : DataFrame
        What the verb returned, as it is: another DataFrame made of it has no plan of its own.
    """
    plan_of(result).explain()
    line = took(result, _since.get(result))
    if line is not None:
        print(line)


def plan_of(result: DataFrame) -> Any:
    """The plan behind a DataFrame that a verb of unskew returned: what `explain` prints.

    Parameters
    ----------
    result : DataFrame
        What the verb returned, as it is: another DataFrame made of it has no plan of its own.

    Returns
    -------
    Plan, JoinPlan or MapPlan
        With `explain()`, the reason `why`, and the `ways` that were weighed.
    """
    if not isinstance(result, DataFrame):
        raise ParameterTypeError("result", result, "a DataFrame that a verb of unskew returned")
    plan = _plans.get(result)
    if plan is None:
        raise ParameterError(
            "this DataFrame has no plan of unskew's; give what a verb returned (groupBy(...).agg, "
            "applyInArrow, applyInPandas; cogroup, join, repartition, mapInArrow, mapInPandas), "
            "before anything is done with it"
        )
    return plan


def explained(result: DataFrame, plan: Explained, since: int | None = None) -> DataFrame:
    """Keep the plan behind a result as long as the result is there.

    Columns of the result with numbers above `since` were made for it.
    """
    _plans[result], _since[result] = plan, since
    return result


def _is_interactive() -> bool:
    return hasattr(sys, "ps1") or hasattr(builtins, "__IPYTHON__")
