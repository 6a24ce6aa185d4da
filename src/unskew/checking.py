"""Type checks for parameters, by their annotations; run before range checks."""

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
    """Raise unless the value is a whole number; True and 4.0 are not."""
    check_value(name, value, int)


def check_number(name: str, value: object) -> None:
    """Raise unless the value is a number; NaN and True are not."""
    check_value(name, value, float)


def check_fields(described: object) -> None:
    """Raise unless every field of a dataclass has the type of its annotation.

    >>> from unskew.partitioners import PartialKey
    >>> PartialKey(workers="8")
    Traceback (most recent call last):
    unskew.errors.ParameterTypeError: workers='8' is of type str, not a whole number
    """
    kind: Any = type(described)
    for name, hint in field_types(kind).items():
        check_value(name, getattr(described, name), hint)


def check_value(name: str, value: object, hint: Any) -> None:
    """Raise unless the value has the annotated type."""
    kinds = alternatives(hint)
    if not any(_is(value, kind) for kind in kinds):
        raise ParameterTypeError(name, value, " or ".join(map(_in_words, kinds)))
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        raise ParameterError(f"{name} takes {value.bit_length()} bits; it must fit into 64")


@functools.cache
def field_types(kind: Any) -> dict[str, Any]:
    """The annotation of every field of a dataclass."""
    hints = typing.get_type_hints(kind)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def alternatives(hint: Any) -> list[Any]:
    """The types that an annotation allows: the parts of a union, each without its alias.

    >>> alternatives(int | None)
    [<class 'int'>, <class 'NoneType'>]
    """
    hint = _without_alias(hint)
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return [kind for part in typing.get_args(hint) for kind in alternatives(part)]
    return [hint]


def array_scalar(kind: Any) -> Any:
    """The scalar type of an array's annotation; None if it is not an array's.

    >>> array_scalar(np.typing.NDArray[np.int64])
    <class 'numpy.int64'>
    """
    kind = _without_alias(kind)
    if (typing.get_origin(kind) or kind) is not np.ndarray:
        return None
    _, dtype = typing.get_args(kind) or (Any, np.dtype[np.generic])
    (scalar,) = typing.get_args(_without_alias(dtype)) or (np.generic,)
    return scalar


def _without_alias(hint: Any) -> Any:
    """What an alias stands for, with its parameters filled in.

    `NDArray[np.int64]` is `ndarray[..., dtype[np.int64]]` in itself up to numpy 2.4; from 2.5 on
    it is an alias (`type NDArray[S] = ...`), whose origin is `NDArray` and whose argument is the
    scalar.
    """
    while hasattr(alias := typing.get_origin(hint) or hint, "__value__"):
        value = alias.__value__
        given = dict(zip(alias.__type_params__, typing.get_args(hint), strict=False))
        parameters = tuple(given.get(each, Any) for each in getattr(value, "__parameters__", ()))
        hint = value[parameters] if parameters else value
    return hint


def _is(value: object, kind: Any) -> bool:
    origin = typing.get_origin(kind) or kind
    if kind is bool:
        return isinstance(value, bool | np.bool_)
    if kind is int:
        return isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if kind is float:
        return isinstance(value, numbers.Real) and not isinstance(value, bool) and value == value
    if origin is typing.Literal:
        return isinstance(value, str)  # The class checks which word, and names all its choices.
    if origin is np.ndarray:
        return _is_array(value, array_scalar(kind))
    if origin is tuple:
        return isinstance(value, tuple | list)
    if getattr(origin, "_is_protocol", False):
        return all(hasattr(value, name) for name in vars(origin) if not name.startswith("_"))
    return not isinstance(origin, type) or isinstance(value, origin)


def _is_array(value: object, scalar: Any) -> bool:
    """Whether it is one-dimensional, of numbers that become `scalar`s without loss of kind."""
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
        return f"an array of {array_scalar(kind).__name__}"
    if origin is tuple:
        return "a tuple of numbers"
    return f"a {getattr(origin, '__name__', origin)}"
