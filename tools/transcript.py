"""Type the commands of docs/first-half-hour.md again and write down what they print.

Runs as part of nothing: a test compares the document with what commands print now. After a change
of their output, `python tools/transcript.py` brings the document up to date.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

DOCUMENT = Path(__file__).parent.parent / "docs" / "first-half-hour.md"
_BLOCK = re.compile(r"(<!-- not run[^>]*-->\n)?^```(console|python)\n(.*?)^```$", re.DOTALL | re.M)


def printed(line: str, folder: str) -> str:
    """What a command prints, on both channels, 80 columns wide."""
    done = subprocess.run(
        line.replace("evenkeel", f"{sys.executable} -c 'from evenkeel.cli import main; main()'", 1),
        shell=True,
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "80"},
    )
    noise = ("WARNING: Using incubator", "Setting default log level", "To adjust logging level")
    lines = [each.rstrip() for each in (done.stderr + done.stdout).splitlines()]
    kept = [each for each in lines if " WARN " not in each and not each.startswith(noise)]
    return "\n".join(kept).strip("\n") + "\n"


def main() -> None:
    """Replay the document in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:

        def replay(match: re.Match[str]) -> str:
            skipped, language, text = match.groups()
            if skipped:
                return match[0]
            if language == "python":
                if "spark" not in text and "plan" not in text:
                    subprocess.run([sys.executable, "-c", text], cwd=folder, check=True)
                return match[0]
            lines = [line for line in text.splitlines() if line.startswith("$ ")]
            body = "".join(f"{line}\n{printed(line[2:], folder)}" for line in lines)
            return f"```console\n{body}```"

        DOCUMENT.write_text(_BLOCK.sub(replay, DOCUMENT.read_text()))


if __name__ == "__main__":
    main()
