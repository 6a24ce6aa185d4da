"""Is a parameter what its annotation says: whole, a number, a word? Asked before its range is."""

from __future__ import annotations

import dataclasses
import functools
import numbers
import types
import typing
from typing import Any

import numpy as np

from unskew.errors import ParameterError, ParameterTypeError

_EXAMPLES = {
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    str: "a word",
    type(None): "None",
}


def check_whole(name: str, value: object) -> None:
    """Refuse what is not a whole number; True and 4.0 are none."""
    _check(name, value, int)


def check_number(name: str, value: object) -> None:
    """Refuse what is not a number; NaN and True are none."""
    _check(name, value, float)


def check_fields(described: object) -> None:
    """Refuse a dataclass in which a field is not of the type that it is annotated with.

    >>> from unskew.partitioners import PartialKey
    >>> PartialKey(workers="8")
    Traceback (most recent call last):
    unskew.errors.ParameterTypeError: workers='8' is of type str, not a whole number
    """
    kind: Any = type(described)
    for name, hint in _hints(kind).items():
        _check(name, getattr(described, name), hint)


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def _check(name: str, value: object, hint: Any) -> None:
    kinds = _kinds(hint)
    if not any(_is(value, kind) for kind in kinds):
        raise ParameterTypeError(name, value, " or ".join(map(_in_words, kinds)))
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ParameterError(f"{name} takes {value.bit_length()} bits; it must fit into 64")


def _kinds(hint: Any) -> list[Any]:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return [kind for part in typing.get_args(hint) for kind in _kinds(part)]
    return [hint]


def _is(value: object, kind: Any) -> bool:
    origin = typing.get_origin(kind) or kind
    if kind is bool:
        return isinstance(value, bool | np.bool_)
    if kind is int:
        return isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if kind is float:
        return isinstance(value, numbers.Real) and not isinstance(value, bool) and value == value
    if origin is typing.Literal:
        return isinstance(value, str)  # which word is told by the class, with all its choices
    if origin is np.ndarray:
        return _is_array(value, typing.get_args(typing.get_args(kind)[1])[0])
    if origin is tuple:
        return isinstance(value, tuple | list)
    if getattr(origin, "_is_protocol", False):
        return all(hasattr(value, name) for name in vars(origin) if not name.startswith("_"))
    return not isinstance(origin, type) or isinstance(value, origin)


def _is_array(value: object, scalar: Any) -> bool:
    """Whether it is one row of numbers that become `scalar`s without loss of kind."""
    if not isinstance(value, np.ndarray | list | tuple):
        return False
    try:
        array = np.asarray(value)
    except (ValueError, OverflowError):
        return False
    allowed = "iuf" if np.issubdtype(scalar, np.floating) else "iu"
    return array.ndim == 1 and (array.size == 0 or array.dtype.kind in allowed)


def _in_words(kind: Any) -> str:
    if kind in _EXAMPLES:
        return _EXAMPLES[kind]
    origin = typing.get_origin(kind) or kind
    if origin is typing.Literal:
        return f"one of {', '.join(map(str, typing.get_args(kind)))}"
    if origin is np.ndarray:
        return f"an array of {typing.get_args(typing.get_args(kind)[1])[0].__name__}"
    if origin is tuple:
        return "a tuple of numbers"
    return f"a {getattr(origin, '__name__', origin)}"
