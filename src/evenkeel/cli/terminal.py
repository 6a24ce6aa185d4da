"""What the commands share: consoles, progress, tables, JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from evenkeel.shown import escaped_json

console = Console()
errors = Console(stderr=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]


def print_json(document: object) -> None:
    """Print a document as JSON, for programs to read."""
    print(escaped_json(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)))


@contextmanager
def progress_bar(what: str, total: int, shown: bool) -> Iterator[Callable[[int], None]]:
    """A bar on the terminal's error channel while the block runs; call the result to advance it."""
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=errors,
        transient=True,
        disable=not (shown and errors.is_terminal),
    ) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.advance(task, done)


@contextmanager
def figure_bar(shown: bool) -> Iterator[Callable[[str, int, int], None]]:
    """A bar per figure; call the result with a figure's name, its cells done and their number."""
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        console=errors,
        transient=True,
        disable=not (shown and errors.is_terminal),
    ) as bars:
        tasks: dict[str, TaskID] = {}

        def advance(figure: str, done: int, cells: int) -> None:
            if figure not in tasks:
                tasks[figure] = bars.add_task(f"figure {figure}", total=cells)
            bars.update(tasks[figure], completed=done)

        yield advance
