"""Type the commands of docs/first-half-hour.md again and write down what they print.

A test compares the document with what commands print now; after a change of their output,
`python tools/docs/transcript.py` brings the document up to date. With `--without-spark`, what needs
Spark stays as it is.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path

from unskew import cli

DOCUMENT = Path(__file__).parents[2] / "docs" / "first-half-hour.md"
ON_SPARK = ("unskew diagnose",)
_BLOCK = re.compile(r"(<!-- not run[^>]*-->\n)?^```(console|python)\n(.*?)^```$", re.DOTALL | re.M)


def printed(line: str) -> str:
    """What a command prints, on both channels."""
    out, sys.argv = io.StringIO(), shlex.split(line)
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(out),
        contextlib.suppress(SystemExit),
    ):
        cli.main()
    lines = [each.rstrip() for each in out.getvalue().splitlines()]
    return "\n".join(lines).strip("\n") + "\n"


def replayed(text: str, spark: bool) -> str:
    """The document with every output written anew."""

    def replay(match: re.Match[str]) -> str:
        skipped, language, block = match.groups()
        if skipped:
            return match[0]
        if language == "python":
            if "write_table" in block:  # the data; what comes later changes nothing here
                exec(compile(block, DOCUMENT.name, "exec"), {})
            return match[0]
        parts = re.split(r"^\$ ", block, flags=re.M)[1:]
        body = ""
        for line, _, before in (part.partition("\n") for part in parts):
            kept = line.startswith(ON_SPARK) and not spark
            body += f"$ {line}\n{before if kept else printed(line)}"
        return f"```console\n{body}```"

    return _BLOCK.sub(replay, text)


def main() -> None:
    """Replay the document in a folder of its own."""
    text = DOCUMENT.read_text()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        current = replayed(text, spark="--without-spark" not in sys.argv)
    DOCUMENT.write_text(current)


if __name__ == "__main__":
    main()
