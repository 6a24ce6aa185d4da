"""Every public way from a DataFrame to a DataFrame, found by reading signatures.

A way is a chain of calls such as `groupBy(...).cogroup(...).applyInArrow(...)`. Verbs and methods
that are added later are found here without being named.
"""

from __future__ import annotations

import functools
import inspect
import typing
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, GroupedData
from pyspark.sql.pandas.group_ops import PandasCogroupedOps

import unskew

_SPARK = (DataFrame, GroupedData, PandasCogroupedOps)


@dataclass(frozen=True)
class Way:
    """A chain of calls, by name and with their parameters."""

    calls: tuple[tuple[str, Callable[..., Any]], ...]

    @property
    def name(self) -> str:
        return ".".join(name for name, _ in self.calls)

    @property
    def in_spark(self) -> bool:
        """Whether plain Spark has methods of these names; else the rows should stay as they are."""
        return all(any(hasattr(kind, name) for kind in _SPARK) for name, _ in self.calls)

    def parameters(self, call: int) -> tuple[inspect.Parameter, ...]:
        """The parameters of a call, without `self`."""
        found = _parameters(self.calls[call][1])
        return found if call == 0 else found[1:]


@functools.cache
def _parameters(call: Callable[..., Any]) -> tuple[inspect.Parameter, ...]:
    return tuple(inspect.signature(call).parameters.values())


@functools.cache
def ways() -> tuple[Way, ...]:
    """All of them."""
    found: list[Way] = []
    for name in sorted(unskew.__all__):
        verb = getattr(unskew, name)
        if inspect.isfunction(verb) and _takes_rows(verb):
            found.extend(Way(calls) for calls in _onwards(((name, verb),)))
    return tuple(found)


def _takes_rows(verb: Callable[..., Any]) -> bool:
    first = next(iter(inspect.signature(verb).parameters), "")
    return _hints(verb).get(first) is DataFrame


def _onwards(calls: tuple[tuple[str, Any], ...]) -> Iterator[tuple[tuple[str, Any], ...]]:
    result = _hints(calls[-1][1]).get("return")
    for kind in typing.get_args(result) or (result,):
        if kind is DataFrame:
            yield calls
        elif inspect.isclass(kind) and kind.__module__.startswith("unskew") and len(calls) < 3:
            for name, method in vars(kind).items():
                if inspect.isfunction(method) and not name.startswith("_"):
                    yield from _onwards((*calls, (name, method)))


def literal_of(call: Callable[..., Any], parameter: str) -> tuple[Any, ...]:
    """The values of a parameter whose type lists them."""
    hint = _hints(call).get(parameter)
    return typing.get_args(hint) if typing.get_origin(hint) is typing.Literal else ()


def takes(call: Callable[..., Any], parameter: str, kind: type) -> bool:
    """Whether the type of a parameter is `kind` or lists it, also inside a sequence."""

    def within(hint: Any) -> bool:
        return hint is kind or any(map(within, typing.get_args(hint)))

    return within(_hints(call).get(parameter))


@functools.cache
def _hints(call: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(call)
    except NameError:  # A type that is imported for type checkers only: no DataFrame.
        return {}
