"""Groups whose columns PySpark cannot find by their names, in plain Spark under other names.

PySpark's functions of groups look up every column by its name as text, and so fail on columns
whose names have dots or backticks, or are there twice. Ours find them by position. What the
function sees must be the same all the same: it tells the names in `SEEN` for those that it gets.
"""

from __future__ import annotations

from typing import Any

from pyspark.errors import AnalysisException
from tests.fuzz.cases import Case


def concerns(case: Case, names: dict[str, Any]) -> bool:
    """Whether a job that fails is of this kind: an aggregation finds the key at least."""
    if "applyIn" not in case.way:
        return False
    try:
        eval(f"left.{case.calls[0].text(plain=True)}.count()", names)
    except AnalysisException as error:
        return not (error.getCondition() or "").startswith(_NOT_FOUND)
    return True


_NOT_FOUND = ("UNRESOLVED_COLUMN", "AMBIGUOUS_REFERENCE")


def renamed(case: Case, names: dict[str, Any]) -> dict[str, Any]:
    """The names of a job with columns called by position; its functions tell the old ones."""
    found = dict(names)
    sides = [("left", "keys", case.left)]
    if case.right is not None:
        sides.append(("right", "right_keys", case.right))
    # The functions look in the names that they were made in.
    names["SEEN"] = [names[side].columns for side, _, _ in sides]
    for side, keys, table in sides:
        columns = [f"c{place}" for place in range(len(table.fields))]
        found[side], found[keys] = names[side].toDF(*columns), columns[: table.keys]
    return found
