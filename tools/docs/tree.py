"""The drawing of the source tree: packages in the order of their import layers, with docstrings."""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"


def source_tree() -> str:
    """Every package of the library and the laboratory, outermost first, as a block of text."""
    lines = ["```text"]
    for package in ("unskew", "unskew_lab"):
        lines += _entry(SOURCE / package, depth=0)
        for name in _ordered(package):
            lines += _entry(SOURCE / package / name, depth=1)
            inner = SOURCE / package / name
            for room in _ordered(f"{package}.{name}"):
                lines += _entry(inner / room, depth=2)
    return "\n".join([*lines, "```"])


def _entry(path: Path, depth: int) -> list[str]:
    """One line with what the package is, and for a package its modules below."""
    if path.is_dir():
        name, module = f"{path.name}/", path / "__init__.py"
    else:
        name, module = f"{path.name}.py", path.with_suffix(".py")
    first = (ast.get_docstring(ast.parse(module.read_text())) or "").split("\n")[0]
    lines = [f"{'  ' * depth + name:<19} {first}"]
    if path.is_dir() and depth == 2:
        lines += _wrapped(sorted(_members(path)), indent=" " * 22)
    return lines


def _wrapped(names: list[str], indent: str, width: int = 100) -> list[str]:
    lines = [indent]
    for name in names:
        if len(lines[-1]) + len(name) + 1 > width:
            lines.append(indent)
        lines[-1] += f"{name} " if lines[-1] == indent else f"· {name} "
    return [line.rstrip() for line in lines]


def _ordered(package: str) -> list[str]:
    """The members of a package in the order of its import contract; by name where it has none."""
    members = _members(SOURCE / package.replace(".", "/"))
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    for contract in settings["tool"]["importlinter"]["contracts"]:
        if contract.get("containers") == [package]:
            layers = [name.strip() for layer in contract["layers"] for name in layer.split("|")]
            return [name for name in layers if name in members]
    return sorted(members) if package == "unskew_lab" else []


def _members(folder: Path) -> list[str]:
    modules = [path.stem for path in folder.glob("*.py") if path.stem != "__init__"]
    return modules + [path.parent.name for path in folder.glob("*/__init__.py")]
