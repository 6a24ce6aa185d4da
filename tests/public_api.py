"""The public surface as text: names with signatures, commands with options, fields of their JSON.

`tests/public_api.txt` holds it, so that a reviewer sees what a change does to it; after a change
made on purpose, `make api` (`python -m tests.public_api`) writes it again.
"""

from __future__ import annotations

import contextlib
import enum
import importlib
import inspect
import io
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_origin

import pyarrow as pa
import pyarrow.parquet as pq
import typer
from typer.main import get_command

from unskew import cli

SNAPSHOT = Path(__file__).with_suffix(".txt")
MODULES = ("unskew", "unskew.streaming", "unskew.testing")
STREAM = "--zipf 1.2 --keys 100 --messages 1000 --workers 4"
COMMANDS = {
    "simulate": f"simulate {STREAM} --scheme pkg --json",
    "compare": f"compare {STREAM} --json",
    "rebalance": "rebalance keys.parquet --algorithm level --workers 3 --json",
}
"""Commands whose JSON is looked at: those that need no Spark and take no minutes."""


class _Plain(str):
    """An annotation that is shown without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


def surface() -> str:
    """The whole text."""
    parts = [_module(name) for name in MODULES]
    parts += [_options(), _json_fields()]
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _module(name: str) -> Iterator[str]:
    module = importlib.import_module(name)
    yield f"# {name}"
    for each in sorted(module.__all__):
        yield from _named(each, getattr(module, each))


def _named(name: str, value: Any) -> Iterator[str]:
    if inspect.isclass(value) and issubclass(value, enum.Enum):
        yield f"enum {name}: {', '.join(value.__members__)}"
    elif inspect.isclass(value):
        made = "" if getattr(value, "_is_protocol", False) else _signature(value)
        yield f"class {name}{made}"
        yield from (f"    {line}" for line in _members(value))
    elif inspect.isfunction(value):
        yield f"def {name}{_signature(value)}"
    elif get_origin(value) is not None:
        yield f"type {name}"
    elif not name.startswith("__"):
        yield f"{name}: {type(value).__name__}"


def _members(kind: type) -> Iterator[str]:
    """What the class and its bases in this package define beside the fields it is made of."""
    ours = [each for each in kind.__mro__ if each.__module__.startswith("unskew")]
    names = {name for each in ours for name in vars(each) if not name.startswith("_")}
    for name in sorted(names - getattr(kind, "__dataclass_fields__", {}).keys()):
        value = inspect.getattr_static(kind, name)
        function = getattr(value, "__func__", value)
        yield f"{name}{_signature(function)}" if inspect.isfunction(function) else name


def _signature(function: Any) -> str:
    found = inspect.signature(function)
    parameters = [
        each.replace(
            annotation=_plain(each.annotation),
            # A function's text tells where it stands in memory.
            default=each.default if _is_shown(each.default) else _Plain("..."),
        )
        for each in found.parameters.values()
    ]
    result = _plain(found.return_annotation)
    return str(found.replace(parameters=parameters, return_annotation=result))


def _is_shown(default: Any) -> bool:
    return default is inspect.Parameter.empty or not callable(default)


def _plain(annotation: Any) -> Any:
    return _Plain(annotation) if isinstance(annotation, str) else annotation


def _options() -> Iterator[str]:
    yield "# unskew COMMAND: arguments and options"
    group = get_command(cli.app)
    context = typer.Context(group)
    for name in sorted(group.list_commands(context)):
        _, command, _ = group.resolve_command(context, [name])
        words = [max(each.opts, key=len) for each in command.params if each.name != "help"]
        yield f"{name}: {' '.join(words)}"


def _json_fields() -> Iterator[str]:
    yield "# unskew COMMAND --json: fields"
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        pq.write_table(
            pa.table({"key": range(9), "cost": range(9), "memory": range(9)}), "keys.parquet"
        )
        for name, words in COMMANDS.items():
            yield f"{name}: {', '.join(_fields(_printed(words)))}"


def _printed(words: str) -> Any:
    """What a command prints, in this process."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.suppress(SystemExit):
        cli.app(words.split(), prog_name="unskew")
    return json.loads(out.getvalue())


def _fields(value: Any, path: str = "") -> list[str]:
    """The paths of all fields: `schemes[].need`. Elements of a list have the same ones."""
    if isinstance(value, dict):
        found = [_fields(each, f"{path}.{name}".lstrip(".")) for name, each in value.items()]
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        found = [_fields(each, f"{path}[]") for each in value]
    else:
        return [path]
    return list(dict.fromkeys(field for fields in found for field in fields))


if __name__ == "__main__":
    SNAPSHOT.write_text(surface())
