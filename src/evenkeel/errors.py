"""Every error that evenkeel raises on purpose.

A message gives the rule that was broken, the value that broke it and the way out, and it is
raised before any work starts. All of them are `EvenkeelError`s; each also is the built-in error
that a Python user would expect in its place.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class EvenkeelError(Exception):
    """The base of every error raised on purpose."""


class ParameterError(EvenkeelError, ValueError):
    """A parameter lies outside its range."""


class UnknownNameError(EvenkeelError, LookupError):
    """A scheme, a setting or a column has a name that does not exist."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        choices = sorted(known)
        close = difflib.get_close_matches(name, choices, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        super().__init__(f"no {kind} {name!r}{hint} There are: {', '.join(choices) or 'none'}")


class InputError(EvenkeelError, ValueError):
    """A file cannot be read as a stream of keys."""


class KeyTypeError(EvenkeelError, TypeError):
    """A key has a type that cannot be hashed as Spark would group it."""


class NeedError(EvenkeelError, ValueError):
    """A scheme does not keep the promise that the work needs."""


class SchemaError(EvenkeelError, ValueError):
    """A function returns other columns than it should."""


class RetryError(EvenkeelError, RuntimeError):
    """A retried task could send a row elsewhere than before."""


class StateError(EvenkeelError, RuntimeError):
    """The state of a stream cannot be taken up as it lies there."""


class SessionError(EvenkeelError, RuntimeError):
    """The Spark session lacks what the work needs."""


class MissingExtraError(EvenkeelError, ImportError):
    """A library is not installed that belongs to one of evenkeel's optional extras."""

    def __init__(self, module: str, extra: str) -> None:
        super().__init__(f"{module} is not installed; pip install 'evenkeel[{extra}]'")
