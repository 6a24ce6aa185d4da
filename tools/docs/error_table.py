"""The tables of docs/errors.md: every class of errors, and every message, read from the source."""

from __future__ import annotations

import ast
import inspect
from collections import defaultdict
from pathlib import Path

from unskew import errors
from unskew.errors import UnskewError

SOURCE = Path(__file__).parents[2] / "src" / "unskew"


def error_classes() -> str:
    """One line per class: what it also is, and what it means."""
    lines = ["| error | also a | raised when |", "|---|---|---|"]
    for kind in _classes():
        also = next(base for base in kind.__mro__ if base.__module__ == "builtins").__name__
        lines.append(f"| `{kind.__name__}` | `{also}` | {_one_line(kind.__doc__ or '')} |")
    return "\n".join(lines)


def error_messages() -> str:
    """Every message below its class, in the order of the source; `{…}` is the value at fault."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).with_suffix("").as_posix().replace("/", ".")
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                name = getattr(node.exc.func, "id", "")
                found[name].append(f"| {_message(name, node.exc.args)} | `{place}` |")
    parts = []
    for kind in _classes():
        rows = list(dict.fromkeys(found[kind.__name__]))
        if rows:
            head = "| message | raised in |\n|---|---|"
            parts.append(f"### {kind.__name__}\n\n{head}\n" + "\n".join(rows))
    return "\n\n".join(parts)


def _classes() -> list[type[UnskewError]]:
    kinds = [kind for kind in vars(errors).values() if inspect.isclass(kind)]
    return [kind for kind in kinds if issubclass(kind, UnskewError) and kind is not UnskewError]


def _message(kind: str, arguments: list[ast.expr]) -> str:
    parts = [_text(each) for each in arguments]
    if kind == "UnknownNameError":
        text = f"no {parts[0]} {{name}}; did you mean … There are: …"
    elif kind == "ParameterTypeError":
        text = f"{parts[0]}={{value}} is of type …, not {parts[2]}"
    elif kind == "MissingExtraError":
        text = (
            f"{parts[0]} is not installed; it comes with pip install 'unskew[{parts[1]}]' "
            f"(in a checkout of the repository: pip install '.[{parts[1]}]')"
        )
    else:
        text = parts[0]
    return _one_line(text).replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def _text(node: ast.expr) -> str:
    """A literal as it reads, with the name of each value in braces."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return _text(node.value)
    if isinstance(node, ast.Attribute | ast.Name):
        return "{" + ast.unparse(node).removeprefix("self.").rsplit(".", 1)[-1] + "}"
    return "{…}"


def _one_line(text: str) -> str:
    return " ".join(text.split())
