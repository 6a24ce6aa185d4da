"""Partitioners as JSON, and from a command line's settings."""

from __future__ import annotations

import dataclasses
import json
import typing
from collections.abc import Container, Iterator, Mapping
from typing import Any

import numpy as np

from unskew.checking import alternatives, array_scalar, check_value, field_types
from unskew.errors import ParameterError, ParameterTypeError, UnknownNameError
from unskew.partitioners import scheme_named
from unskew.partitioners.contract import Partitioner
from unskew.partitioners.settings import described


def to_json(partitioner: Partitioner) -> str:
    """The partitioner as a JSON object: its scheme and its fields.

    >>> from unskew.partitioners import PartialKey
    >>> to_json(PartialKey(workers=4))[:44]
    '{"scheme": "pkg", "workers": 4, "choices": 2'
    """
    return json.dumps(_encode(partitioner))


def from_json(text: str) -> Partitioner:
    """The partitioner that `to_json` wrote.

    >>> from_json('{"scheme": "kg", "workers": 4}')
    KeyGrouping(workers=4)
    """
    if not isinstance(text, str | bytes | bytearray):
        raise ParameterTypeError("text", text, "JSON as to_json writes it")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ParameterError(f"a partitioner must be JSON as to_json writes it: {error}") from None
    if not isinstance(document, dict) or not isinstance(document.get("scheme"), str):
        raise ParameterError(
            "a partitioner must be a JSON object with a scheme, as to_json writes it"
        )
    partitioner: Partitioner = _decode("partitioner", document, Partitioner)
    return partitioner


def build(scheme: str, workers: int, settings: Mapping[str, str] | None = None) -> Partitioner:
    """A partitioner from its name and its settings as text.

    >>> build("pkg", workers=8, settings={"choices": "3"}).choices
    3
    """
    values = parse_settings(scheme, scheme_named(scheme), settings or {}, fixed=("workers",))
    return described(scheme, workers, values)


def parse_settings(
    name: str, kind: type, settings: Mapping[str, str], fixed: Container[str] = ()
) -> dict[str, Any]:
    """The fields of the dataclass `kind` that are set as text, except those that are `fixed`."""
    hints = {field: hint for field, hint in field_types(kind).items() if field not in fixed}
    for field in settings:
        if field not in hints:
            raise UnknownNameError(f"setting of {name}", field, hints)
    return {field: _parse(field, text, hints[field]) for field, text in settings.items()}


def _parse(name: str, text: str, hint: Any) -> Any:
    for kind in alternatives(hint):
        if kind is bool and text.lower() in ("true", "false"):
            return text.lower() == "true"
        if kind is type(None) and text.lower() == "none":
            return None
        if kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
        if kind is str or typing.get_origin(kind) is typing.Literal:
            return text
        if array_scalar(kind) is not None:
            try:
                return np.array(text.split(","), dtype=array_scalar(kind))
            except (ValueError, OverflowError):
                continue
    raise ParameterError(f"{name}={text!r} cannot be read as {_describe(hint)}")


def _describe(hint: Any) -> str:
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "a word"}
    words = [
        "numbers such as 1,1,3" if array_scalar(kind) is not None else names[kind]
        for kind in alternatives(hint)
        if kind in names or array_scalar(kind) is not None
    ]
    return " or ".join(words) or "text; set it from Python"


def _encode(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if dataclasses.is_dataclass(value):
        fields = {f.name: _encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
        scheme = getattr(value, "scheme", None)
        return {"scheme": scheme, **fields} if scheme else fields
    return value


def _decode(name: str, value: Any, hint: Any) -> Any:
    """The value of a field; everything in it is checked before any class is called."""
    if isinstance(value, dict):
        return _decode_object(name, value, hint)
    scalars = [scalar for kind in alternatives(hint) if (scalar := array_scalar(kind)) is not None]
    if isinstance(value, list) and scalars:
        return _decode_array(name, value, np.dtype(scalars[0]))
    check_value(name, value, hint)
    return value


def _decode_object(name: str, value: dict[str, Any], hint: Any) -> Any:
    kind = _class_of(name, value, hint)
    hints = field_types(kind)
    fields = {field: part for field, part in value.items() if field != "scheme"}
    for field in fields:
        if field not in hints:
            raise UnknownNameError(f"field of {kind.__name__}", field, hints)
    missing = _required(kind) - set(fields)
    if missing:
        raise ParameterError(f"{kind.__name__} lacks {', '.join(sorted(missing))}; see to_json")
    return kind(**{field: _decode(field, part, hints[field]) for field, part in fields.items()})


def _class_of(name: str, value: dict[str, Any], hint: Any) -> Any:
    kinds = alternatives(hint)
    if isinstance(value.get("scheme"), str) and Partitioner in kinds:
        return scheme_named(value["scheme"])
    for kind in kinds:
        if dataclasses.is_dataclass(kind) and value.get("scheme") == getattr(kind, "scheme", None):
            return kind
    raise ParameterError(f"{name} is not as to_json writes it")


def _required(kind: Any) -> set[str]:
    return {
        field.name
        for field in dataclasses.fields(kind)
        if field.default is field.default_factory is dataclasses.MISSING
    }


def _decode_array(name: str, value: list[Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    whole = dtype.kind in "iu"
    low, high = (np.iinfo(dtype).min, np.iinfo(dtype).max) if whole else (-(2**1023), 2**1023)
    for number in _leaves(value):
        if isinstance(number, bool) or not isinstance(number, int if whole else int | float):
            raise ParameterTypeError(name, number, f"a number of an array of {dtype}")
        if isinstance(number, int) and not low <= number <= high:
            raise ParameterError(f"{name} has a number that does not fit into {dtype}")
    try:
        return np.array(value, dtype=dtype)
    except ValueError:  # The numbers are checked: only the shape is left to be wrong.
        raise ParameterError(f"{name} must be an array whose rows are equally long") from None


def _leaves(value: list[Any]) -> Iterator[Any]:
    for part in value:
        if isinstance(part, list):
            yield from _leaves(part)
        else:
            yield part
