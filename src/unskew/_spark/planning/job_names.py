"""Which job a call is, from run to run; and whether its function is still the same."""

from __future__ import annotations

import functools
import hashlib
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePath
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any

_LONGEST = 80
_OURS = ("unskew", "pyspark", "py4j")
_INTERACTIVE = re.compile(r"<.*>|.*ipykernel_\d+.*")  # Named by process, count or content.


def job_name(
    given: str | None, verb: str, key: Sequence[str], function: Callable[..., Any] | None
) -> str:
    """A job's folder: the name that the user gave, or one made of the place of the call."""
    if given is not None:
        return _folder(given, "name", given)
    file, caller = _place_of_call()
    called = "" if function is None else _called(caller, _plain(function))
    parts = [file, caller.co_qualname, verb, *key, called]
    return _folder("-".join(filter(None, parts)), "place", *parts)


def fingerprint(function: Any) -> str:
    """A hash of what a function does, or a list of them, the same wherever Python's version is.

    It covers the function's code, constants, names and defaults, and those of the functions of its
    own module and of its closures that it may call. Data that it was given (arguments of partials,
    variables of closures) is left out: a date changes every night, and what a call takes does not.
    """
    digest = hashlib.sha256(repr(sys.version_info[:2]).encode())
    for each in _described(function, set()):
        digest.update(f"{len(each)}:".encode() + each.encode(errors="backslashreplace"))
    return digest.hexdigest()[:32]


def _called(caller: CodeType, function: Any) -> str:
    """A function's name, with a number if its caller makes further ones of that name: lambdas."""
    code = getattr(function, "__code__", None)
    made = [each for each in caller.co_consts if isinstance(each, CodeType)]
    turns = (each for each in made if code is not None and each.co_name == code.co_name)
    turn = next((turn for turn, each in enumerate(turns) if each is code), 0)
    return f"{function.__qualname__}-{turn}" if turn else str(function.__qualname__)


def _place_of_call() -> tuple[str, CodeType]:
    """The file and the function outside of unskew and Spark."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        if str(frame.f_globals.get("__name__", "")).partition(".")[0] not in _OURS:
            break
        frame = frame.f_back
    file = frame.f_code.co_filename
    shown = "interactive" if _INTERACTIVE.fullmatch(file) else PurePath(file).name
    return shown, frame.f_code


def _folder(shown: str, *parts: str) -> str:
    """A name that every file system takes, and that no other parts have."""
    digest = hashlib.sha256()
    for part in parts:
        text = part.encode(errors="backslashreplace")
        digest.update(f"{len(text)}:".encode() + text)
    readable = re.sub(r"[^A-Za-z0-9.]+", "-", shown)[:_LONGEST].strip("-.")
    return f"{readable}-{digest.hexdigest()[:12]}".lstrip("-")


def _plain(function: Any) -> Any:
    """The function behind partials, methods and objects that can be called."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, MethodType):
            function = function.__func__
        elif isinstance(function, FunctionType | BuiltinFunctionType | type):
            return function
        else:
            call: Any = type(function).__call__
            return call if isinstance(call, FunctionType) else type(function)


def _described(value: Any, seen: set[int]) -> Iterator[str]:
    if isinstance(value, CodeType):
        yield from _of_code(value, seen)
    elif isinstance(value, tuple | list):
        yield f"{type(value).__name__} {len(value)}"
        for each in value:
            yield from _described(each, seen)
    elif isinstance(value, set | frozenset):
        yield from sorted("".join(_described(each, seen)) for each in value)
    elif isinstance(value, dict):
        yield from _described([*value.items()], seen)
    elif (
        value is None
        or value is ...
        or isinstance(value, bool | int | float | complex | str | bytes)
    ):
        yield f"{type(value).__name__} {value!r}"
    elif callable(value):
        yield from _of_function(_plain(value), seen)
    else:
        yield f"{type(value).__module__}.{type(value).__qualname__}"


def _of_code(code: CodeType, seen: set[int]) -> Iterator[str]:
    yield code.co_code.hex()
    for names in (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars):
        yield " ".join(names)
    yield from _described(code.co_consts, seen)


def _of_function(function: Any, seen: set[int]) -> Iterator[str]:
    yield f"{function.__module__}.{function.__qualname__}"
    if not isinstance(function, FunctionType) or id(function) in seen:
        return
    seen.add(id(function))
    yield from _described(function.__code__, seen)
    yield from _described([function.__defaults__, function.__kwdefaults__], seen)
    for helper in _helpers(function):
        yield from _of_function(_plain(helper), seen)


def _helpers(function: FunctionType) -> Iterator[Any]:
    """Functions that this one may call and that change with it."""
    for cell in function.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:  # Not bound yet.
            continue
        if isinstance(value, FunctionType | functools.partial):
            yield value
    for name in _names(function.__code__):
        value = function.__globals__.get(name)
        if isinstance(value, FunctionType) and value.__module__ == function.__module__:
            yield value


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _names(each)
