"""What PySpark itself does with a group function: how it is called, and its settings.

Results and errors must be Spark's, so that its own functions decide wherever there are such; they
are the same from PySpark 4.3 on. With an older one, groups are left to Spark's own call.
"""

from __future__ import annotations

import inspect
import textwrap
import traceback
import warnings
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql.pandas.typehints import (
    infer_group_arrow_eval_type_from_func,
    infer_group_pandas_eval_type_from_func,
)
from pyspark.util import PythonEvalType

from unskew._spark.engine.cutting import Limits
from unskew.errors import ParameterError, ParameterTypeError

GroupKind = Literal["arrow", "pandas"]
"""What a function gets its groups as."""

_ITERATORS = (
    PythonEvalType.SQL_GROUPED_MAP_ARROW_ITER_UDF,
    getattr(PythonEvalType, "SQL_GROUPED_MAP_PANDAS_ITER_UDF", None),
)


class CallForm(NamedTuple):
    """How Spark calls a group function."""

    with_key: bool
    iterator: bool


def form_of(function: Any, kind: GroupKind = "arrow", groups: int = 1) -> CallForm:
    """Whether a function of `groups` groups takes the key too, and whether it takes batches."""
    if not callable(function):
        raise ParameterTypeError("func", function, "a function of a group")
    count = len(inspect.getfullargspec(function).args)
    if count not in (groups, groups + 1):
        raise ParameterError(
            f"{getattr(function, '__name__', repr(function))} takes {count} arguments; "
            f"a function of a group takes {groups}, or {groups + 1} with the key first"
        )
    return CallForm(count == groups + 1, groups == 1 and _takes_batches(function, kind))


def _takes_batches(function: Any, kind: GroupKind) -> bool:
    infer = (
        infer_group_arrow_eval_type_from_func
        if kind == "arrow"
        else infer_group_pandas_eval_type_from_func
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return infer(function) in _ITERATORS
        except Exception:  # Spark takes whole groups wherever it cannot read the hints.
            return False


def note_cause(error: Exception) -> None:
    """Add what an error of Spark's own functions came from, as a note.

    Spark's workers report causes only where no code but Spark's led to the error, and ours did.
    """
    cause = error.__cause__ or error.__context__
    if cause is not None:
        # Indented: the last line at the margin stays the error itself, as in Spark's own report.
        shown = "".join(["Caused by:\n", *traceback.format_exception(cause)])
        error.add_note(textwrap.indent(shown.rstrip(), "  "))


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """The session's settings that Spark's own Python workers go by."""

    by_name: bool
    """Whether a result's columns are assigned by their names, else by position."""
    zone: str
    safe: bool
    large_types: bool
    int_to_decimal: bool
    int_extension_types: bool
    limits: Limits
    """How large Spark's batches may be."""

    @classmethod
    def of(cls, rows: DataFrame) -> WorkerSettings:
        """The settings of the rows' session."""

        def text(name: str, default: str) -> str:
            try:
                return str(rows.sparkSession.conf.get(name))
            except PySparkException:
                return default

        def flag(name: str, default: str = "false") -> bool:
            return text(name, default).lower() == "true"

        python_udf = "spark.sql.execution.pythonUDF.pandas"
        return cls(
            flag("spark.sql.legacy.execution.pandas.groupedMap.assignColumnsByName", "true"),
            text("spark.sql.session.timeZone", "UTC"),
            flag("spark.sql.execution.pandas.convertToArrowArraySafely"),
            flag("spark.sql.execution.arrow.useLargeVarTypes"),
            flag(f"{python_udf}.intToDecimalCoercionEnabled"),
            flag(f"{python_udf}.preferIntExtensionDtype"),
            Limits(
                int(text("spark.sql.execution.arrow.maxRecordsPerBatch", "10000")),
                in_bytes(text("spark.sql.execution.arrow.maxBytesPerBatch", "64MB")),
            ),
        )


def in_bytes(size: str) -> int:
    """A size as Spark's settings give it.

    >>> in_bytes("4096"), in_bytes("64MB"), in_bytes("1k")
    (4096, 67108864, 1024)
    """
    number = size.strip().lower().removesuffix("b")
    unit = number.lstrip("0123456789")
    return int(number.removesuffix(unit)) << 10 * " kmgtp".index(unit or " ")
