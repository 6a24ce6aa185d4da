"""Partitioners as JSON, and from the words of a command line."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Mapping
from typing import Any

import numpy as np

from unskew.errors import ParameterError, UnknownNameError
from unskew.partitioners import ALL
from unskew.partitioners.contract import Partitioner


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
    try:
        document = json.loads(text)
    except (ValueError, TypeError, RecursionError) as error:
        raise ParameterError(
            f"a partitioner is JSON as to_json writes it; this is not: {error}"
        ) from None
    if not isinstance(document, dict) or not isinstance(document.get("scheme"), str):
        raise ParameterError("a partitioner is a JSON object with a scheme, as to_json writes it")
    partitioner: Partitioner = _decode(document, Partitioner)
    return partitioner


def build(scheme: str, workers: int, settings: Mapping[str, str] | None = None) -> Partitioner:
    """A partitioner from its name and its settings as text.

    >>> build("pkg", workers=8, settings={"choices": "3"}).choices
    3
    """
    kind = scheme_named(scheme)
    hints = typing.get_type_hints(kind)
    known = {field.name for field in dataclasses.fields(typing.cast(Any, kind))} - {"workers"}
    values: dict[str, Any] = {}
    for name, text in (settings or {}).items():
        if name not in known:
            raise UnknownNameError(f"setting of {scheme}", name, known)
        values[name] = parse_value(name, text, hints[name])
    return kind(workers=workers, **values)  # type: ignore[call-arg]


def scheme_named(scheme: str) -> type[Partitioner]:
    """The class of a scheme."""
    if scheme not in ALL:
        raise UnknownNameError("scheme", scheme, ALL)
    return ALL[scheme]


def parse_value(name: str, text: str, hint: Any) -> Any:
    """The value of a setting that is given as text, by its type."""
    for kind in _plain_kinds(hint):
        if kind is bool and text.lower() in ("true", "false"):
            return text.lower() == "true"
        if kind in (int, float):
            try:
                return kind(text)
            except ValueError:
                continue
        if kind is str:
            return text
    raise ParameterError(f"{name}={text!r} cannot be read as {_describe(hint)}")


def _plain_kinds(hint: Any) -> list[Any]:
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return [kind for part in typing.get_args(hint) for kind in _plain_kinds(part)]
    if typing.get_origin(hint) is typing.Literal:
        return [str]
    return [hint]


def _describe(hint: Any) -> str:
    kinds = [kind for kind in _plain_kinds(hint) if kind in (bool, int, float, str)]
    names = {bool: "true or false", int: "a whole number", float: "a number", str: "a word"}
    return " or ".join(names[kind] for kind in kinds) or "text; set it from Python"


def _encode(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    if dataclasses.is_dataclass(value):
        fields = {f.name: _encode(getattr(value, f.name)) for f in dataclasses.fields(value)}
        scheme = getattr(value, "scheme", None)
        return {"scheme": scheme, **fields} if scheme else fields
    return value


def _decode(value: Any, hint: Any) -> Any:
    if isinstance(value, dict):
        kind = _class_of(value, hint)
        hints = typing.get_type_hints(kind)
        fields = {name: _decode(part, hints[name]) for name, part in value.items() if name in hints}
        fields.pop("scheme", None)
        missing = _needed(kind) - set(fields)
        if missing:
            raise ParameterError(f"{kind.__name__} lacks {', '.join(sorted(missing))}; see to_json")
        return kind(**fields)
    if isinstance(value, list):
        try:
            return np.array(value, dtype=_dtype_of(hint))
        except (ValueError, TypeError, OverflowError, IndexError) as error:
            raise ParameterError(f"a partitioner's JSON has a list where {error}") from None
    return value


def _needed(kind: Any) -> set[str]:
    return {
        field.name
        for field in dataclasses.fields(kind)
        if field.default is field.default_factory is dataclasses.MISSING
    }


def _class_of(value: dict[str, Any], hint: Any) -> Any:
    if "scheme" in value:
        return scheme_named(value["scheme"])
    for kind in _plain_kinds(hint):
        if dataclasses.is_dataclass(kind):
            return kind
    raise ParameterError(
        "a partitioner's JSON has an object where it should have a value; see to_json"
    )


def _dtype_of(hint: Any) -> Any:
    """The scalar type in `NDArray[scalar]`, which is `ndarray[shape, dtype[scalar]]`."""
    return typing.get_args(typing.get_args(hint)[1])[0]
