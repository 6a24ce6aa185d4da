"""Every error that unskew raises on purpose.

A message gives the rule that was broken, the value that broke it and the way out, and it is
raised before any work starts. All of them derive from `UnskewError`, and each also is the
built-in error that a Python user would expect in its place.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LONGEST = 80
_LONGEST_MESSAGE = 1500
_MOST = 30


class UnskewError(Exception):
    """The base of every error raised on purpose."""

    def __str__(self) -> str:
        return _short(super().__str__(), _LONGEST_MESSAGE)


class ParameterError(UnskewError, ValueError):
    """A parameter lies outside its range."""


class ParameterTypeError(ParameterError, TypeError):
    """A parameter has the wrong type: a word for a number, 1.5 for a count."""

    def __init__(self, name: str, value: object, wanted: str) -> None:
        shown = _short(" ".join(repr(value).split()))
        nan = isinstance(value, float) and value != value
        kind = "not" if nan else f"of type {type(value).__name__}, not"
        super().__init__(f"{name}={shown} is {kind} {wanted}")


class UnknownNameError(UnskewError, LookupError):
    """A scheme, a setting or a column has a name that does not exist."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        name, choices = str(name), sorted(known)
        close = difflib.get_close_matches(name[:_LONGEST], choices, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ";"
        super().__init__(f"no {kind} {_short(repr(name))}{hint} There are: {_listed(choices)}")


class InputError(UnskewError, ValueError):
    """A file or a text is not valid: a stream of keys, a plan."""


class KeyTypeError(UnskewError, TypeError):
    """A key has a type that cannot be hashed as Spark would group it."""


class NeedError(UnskewError, ValueError):
    """A scheme does not give the guarantee that the work needs."""


class SchemaError(UnskewError, ValueError):
    """A function returns columns that differ from the schema."""


class RetryError(UnskewError, RuntimeError):
    """A retried task could send a row to another worker than before."""


class StateError(UnskewError, RuntimeError):
    """The stored state of a stream cannot be resumed."""


class SessionError(UnskewError, RuntimeError):
    """The Spark session lacks what the work needs."""


class MissingExtraError(UnskewError, ImportError):
    """A library of an optional extra is not installed."""

    def __init__(self, module: str, extra: str) -> None:
        super().__init__(
            f"{module} is not installed; it comes with pip install 'unskew[{extra}]' "
            f"(in a checkout of the repository: pip install '.[{extra}]')"
        )


def _short(text: str, longest: int = _LONGEST) -> str:
    """Both ends of a text that is too long; input may be of any length."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]} … {text[-half:]}"


def _listed(names: list[str]) -> str:
    shown = [_short(name if name.isprintable() else repr(name)) for name in names[:_MOST]]
    more = [f"and {len(names) - _MOST} more"] if len(names) > _MOST else []
    return ", ".join(shown + more) or "none"
