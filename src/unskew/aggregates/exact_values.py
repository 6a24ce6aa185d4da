"""Exact values: decimals of any number of digits, and points in time as whole numbers.

Python's own decimals have 28 digits unless told otherwise. Its dates end at the year 9999, and of
the hour that clocks repeat in autumn they cannot always tell the first from the second.
"""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, NamedTuple

import pyarrow as pa

from unskew.errors import ParameterError

Number = int | float | Decimal

_EXACT = Context(prec=200, rounding=ROUND_HALF_UP)  # A sum of 10**19 decimals has 58 digits.
_DIGITS = 38  # Of Spark's widest decimal.


class Moment(NamedTuple):
    """A date, time, timestamp or duration: how many units of its Arrow type."""

    units: int
    kind: pa.DataType


def values_of(column: pa.Array) -> list[Any]:
    """The values of a column, in a form that Python compares, hashes and pickles without loss.

    >>> values_of(pa.array([0, None], pa.timestamp("us", "Europe/Berlin")))
    [Moment(units=0, kind=TimestampType(timestamp[us, tz=UTC])), None]
    """
    kind = column.type
    if not pa.types.is_temporal(kind):
        values: list[Any] = column.to_pylist()
        return values
    if pa.types.is_timestamp(kind) and kind.tz:
        kind = pa.timestamp(kind.unit, "UTC")
    units = column.cast(kind).cast(pa.int32() if kind.bit_width == 32 else pa.int64())
    return [None if each is None else Moment(each, kind) for each in units.to_pylist()]


def result_of(value: Any) -> Any:
    """A value of `values_of` as a result: an Arrow scalar for what was a `Moment`."""
    if not isinstance(value, Moment):
        return value
    plain = pa.int32() if value.kind.bit_width == 32 else pa.int64()
    return pa.scalar(value.units, plain).cast(value.kind)


def added(one: Number, other: Number) -> Number:
    """The sum of two numbers, exact for decimals.

    >>> added(Decimal(10) ** 37, Decimal(1))
    Decimal('10000000000000000000000000000000000001')
    """
    if isinstance(one, Decimal) or isinstance(other, Decimal):
        return _EXACT.add(one, other)  # type: ignore[arg-type]  # never a float beside a decimal
    return one + other


def quotient(total: Decimal, count: int) -> Decimal:
    """The mean of decimals as Spark rounds it: four more digits; infinite if the sum overflows.

    >>> quotient(Decimal("10.00"), 3)
    Decimal('3.333333')
    >>> quotient(Decimal("0." + "9" * 38), 1) < 1
    True
    """
    scale = -int(total.as_tuple().exponent)
    # abs() would round to the 28 digits of the default context.
    if total.copy_abs() >= Decimal(10) ** (_DIGITS - scale):
        return Decimal("Infinity")
    # Spark divides to 39 digits first, and rounds that.
    long = _EXACT.divide(total, Decimal(count)).quantize(Decimal("1E-39"), context=_EXACT)
    return long.quantize(Decimal(1).scaleb(-min(scale + 4, _DIGITS)), context=_EXACT)


def check_numeric(what: str, column: str, kind: pa.DataType) -> None:
    """Raise unless a column has numbers."""
    if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        raise ParameterError(
            f"column {column!r} is {kind}: {what} takes numbers; cast the column to a number"
        )


def check_plain(what: str, column: str, kind: pa.DataType) -> None:
    """Raise if a column has values that Python cannot compare as Spark does."""
    if pa.types.is_nested(kind) or pa.types.is_interval(kind):
        raise ParameterError(
            f"column {column!r} is {kind}: {what} takes columns of a plain type in Python; "
            "aggregate a field of it, or its text"
        )
