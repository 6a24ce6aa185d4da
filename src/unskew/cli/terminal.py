"""Terminal output that commands share: consoles, progress bars, numbers, JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from unskew.display import escaped_json

console = Console()
errors = Console(stderr=True)


def print_json(document: object) -> None:
    """Print a document as JSON, for programs to read."""
    print(escaped_json(json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)))


def figure(value: object) -> str:
    """Format a number briefly, with thousands separators; anything else as it is.

    >>> figure(20_000), figure(5734110.2), figure(0.08348), figure(True)
    ('20,000', '5,734,110', '0.08348', 'True')
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    whole = isinstance(value, int) or abs(value) >= 10_000
    return f"{value:,.0f}" if whole else f"{value:,.4g}"


class RateColumn(ProgressColumn):
    """Units per second."""

    def __init__(self, unit: str) -> None:
        super().__init__()
        self.unit = unit

    def render(self, task: Task) -> Text:
        """The current speed, or the average if the task is done."""
        speed = task.fields.get("speed") or task.finished_speed or task.speed
        return Text(rate(speed, self.unit) if speed else "", style="progress.data.speed")


def rate(speed: float, unit: str) -> str:
    """Format a speed briefly.

    >>> rate(1_234_567, "rows"), rate(950, "rows"), rate(0.25, "cells")
    ('1.23 M rows/s', '950 rows/s', '0.25 cells/s')
    """
    for size, name in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if speed >= size:
            return f"{speed / (1000 if name == 'k' else size):.3g} {name} {unit}/s"
    return f"{speed:.3g} {unit}/s"


def _bars(unit: str, shown: bool) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TaskProgressColumn(),
        RateColumn(unit),
        TimeRemainingColumn(compact=True),
        console=errors,
        transient=True,
        disable=not (shown and errors.is_terminal),
    )


@contextmanager
def progress_bar(what: str, total: int, shown: bool) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on stderr while the block runs; call the result to advance it."""
    with _bars("rows", shown) as bar:
        task = bar.add_task(what, total=total)
        yield lambda done: bar.advance(task, done)


@contextmanager
def figure_bar(shown: bool) -> Iterator[Callable[[str, int, int], None]]:
    """Show a bar per figure; call the result with its name, cells done and cells in all."""
    with _bars("cells", shown) as bars:
        tasks: dict[str, TaskID] = {}

        def advance(figure: str, done: int, cells: int) -> None:
            if figure not in tasks:
                tasks[figure] = bars.add_task(f"figure {figure}", total=cells)
            bars.update(tasks[figure], completed=done)

        yield advance


@contextmanager
def waiting(what: str) -> Iterator[Callable[[str], None]]:
    """Show a spinner and the elapsed time; call the result to change the text."""
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        TimeElapsedColumn(),
        console=errors,
        transient=True,
        disable=not errors.is_terminal,
    ) as bar:
        task = bar.add_task(what, total=None)
        yield lambda words: bar.update(task, description=words)
