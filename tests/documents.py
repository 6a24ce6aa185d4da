"""The code blocks of a document, as programs and commands that tests can run.

A block that is not run has `<!-- not run: REASON -->` in the line above it. Python that a reader
need not see stands in `<!-- first` … `-->`.
"""

from __future__ import annotations

import importlib.util
import re
import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).parents[1]
SHOWN_ONLY = {"text", "json", "pycon", "", "{toctree}", "{eval-rst}"}
"""Languages of blocks with nothing to run; the examples of schemes are run as doctests."""

_BLOCK = re.compile(
    r"(?:<!-- not run: (?P<reason>[^>]+) -->\n)?^```(?P<language>[^\n]*)\n(?P<text>.*?)^```$"
    r"|^<!-- first\n(?P<first>.*?)^-->$",
    re.DOTALL | re.MULTILINE,
)
_NUMBER = re.compile(r"\d[\d,.]*(?:e[+-]?\d+)?")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, the line it begins in, and why it is not run."""

    language: str
    text: str
    line: int
    reason: str | None


@dataclass(frozen=True)
class Command:
    """A command and what it printed when the document was written."""

    words: list[str]
    output: str


def documents() -> list[Path]:
    """All documents with blocks, except those that are generated as a whole."""
    written = [*(ROOT / "docs").glob("*.md"), *(ROOT / "docs" / "apps").glob("*.md")]
    found = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(written)]
    return [path for path in found if "```" in path.read_text()]


def blocks(path: Path) -> list[Block]:
    """The blocks of a document, in order."""
    text = path.read_text()
    found = []
    for match in _BLOCK.finditer(text):
        line = text[: match.start()].count("\n") + 1
        language = "python" if match["first"] is not None else match["language"].strip()
        found.append(Block(language, match["first"] or match["text"] or "", line, match["reason"]))
    return found


def python_of(path: Path) -> str:
    """All Python of a document that is run, each line where it stands in the document."""
    lines: list[str] = []
    for block in blocks(path):
        if block.language == "python" and block.reason is None:
            lines += [""] * (block.line - len(lines)) + block.text.splitlines()
    return "\n".join(lines)


def commands_of(path: Path) -> list[Command]:
    """The commands of a document that are run."""
    return [command for block in blocks(path) if not block.reason for command in commands_in(block)]


def commands_in(block: Block) -> list[Command]:
    """The commands of a block, with the output below each, if any is shown."""
    if block.language == "sh":
        whole = block.text.replace("\\\n", " ")
        lines = [line for line in whole.splitlines() if line.strip()]
        return [Command(words(line), "") for line in lines]
    if block.language != "console":
        return []
    parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]
    pairs = [part.partition("\n") for part in parts]
    return [Command(words(line), output) for line, _, output in pairs]


def words(line: str) -> list[str]:
    """A line of a shell as words, without its comment."""
    return shlex.split(line, comments=True)


def shape(text: str) -> list[str]:
    """What an output says, whatever the machine: numbers, rules and spaces are all alike."""
    lines = []
    for line in text.splitlines():
        said = _NUMBER.sub("#", re.sub(r"[─━│┃┏┓┗┛┡┩┳┻╇╈┴┬└┘├┤┼╭╮╯╰\s]+", " ", line)).strip()
        if said:
            lines.append(said)
    return lines


def tool(name: str) -> ModuleType:
    """A module of the tools that write the documents, which imports none of the others."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # where dataclasses look their annotations up
    spec.loader.exec_module(module)
    return module
