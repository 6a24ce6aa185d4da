"""Runs a paper: measures its cells, stores them, writes tables and pictures.

Kernels free the GIL, so cells run in threads, one per core.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from unskew.display import csv_cell
from unskew_lab.papers.drawing import can_draw, draw
from unskew_lab.papers.specification import Cell, Claim, Figure, Paper, Row, Setting, Value

Progress = Callable[[str, int, int], None]
"""Called with the figure's name, how many of its cells are done, and of how many."""


@dataclass(frozen=True, slots=True)
class FigureResult:
    """A figure with its claims as measured."""

    figure: Figure
    claims: Sequence[Claim]

    def as_rows(self) -> list[dict[str, Value]]:
        """The claims in the form that `--json` prints."""
        return [{"figure": self.figure.name, **asdict(claim)} for claim in self.claims]


def reproduce(
    paper: Paper,
    setting: Setting,
    out: Path,
    figure: str | None = None,
    jobs: int | None = None,
    progress: Progress = lambda figure, done, cells: None,
) -> list[FigureResult]:
    """Measure `paper`, or one figure of it, and write CSV, claims and pictures below `out`.

    Without the extra `plot` there are no pictures, and all the rest is the same.
    """
    figures = paper.pick(figure)
    (out / "cells").mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        try:
            started = _start(pool, figures, setting, out / "cells")
            results = [_finish(each, started[each.name], out, progress) for each in figures]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    rows = [row for result in results for row in result.as_rows()]
    _write_json(out / (f"claims-{figure}.json" if figure else "claims.json"), rows)
    if figure is None:
        streams = [path.stem for path in setting.streams()]
        result = {"paper": paper.name, "quick": setting.quick, "seed": setting.seed}
        _write_json(out / "result.json", {**result, "streams": streams, "claims": rows})
    return results


def _start(
    pool: ThreadPoolExecutor, figures: Sequence[Figure], setting: Setting, store: Path
) -> dict[str, list[Future[Sequence[Row]]]]:
    """Queue every distinct cell once, in the order of the figures."""
    queued: dict[str, Future[Sequence[Row]]] = {}
    started: dict[str, list[Future[Sequence[Row]]]] = {}
    for figure in figures:
        cells = figure.cells(setting)
        for cell in cells:
            if repr(cell) not in queued:
                queued[repr(cell)] = pool.submit(_recall_or_measure, cell, store)
        started[figure.name] = [queued[repr(cell)] for cell in cells]
    return started


def _recall_or_measure(cell: Cell, store: Path) -> Sequence[Row]:
    """The rows of a cell, from an earlier run if it has them.

    The version is part of the name: a release may measure otherwise.
    """
    name = hashlib.sha256(f"{version('unskew')} {cell!r}".encode()).hexdigest()[:16]
    path = store / f"{name}.json"
    if path.exists():
        rows: Sequence[Row] = json.loads(path.read_text())["rows"]
        return rows
    rows = cell.measure()
    _write_json(path, {"cell": repr(cell), "rows": list(rows)})
    return rows


def _finish(
    figure: Figure, cells: Sequence[Future[Sequence[Row]]], out: Path, progress: Progress
) -> FigureResult:
    """Wait for a figure's cells, then write its table and picture."""
    rows: list[Row] = []
    progress(figure.name, 0, len(cells))
    for done, cell in enumerate(cells, start=1):
        rows.extend(cell.result())
        progress(figure.name, done, len(cells))
    path = out / f"figure-{figure.name}"
    _write_csv(path.with_suffix(".csv"), rows)
    if figure.plot is not None and can_draw():
        draw(figure.plot(rows), path)
    return FigureResult(figure, figure.claims(rows))


def _write_csv(path: Path, rows: Sequence[Row]) -> None:
    columns = list(dict.fromkeys(column for row in rows for column in row))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns)
        writer.writeheader()
        writer.writerows({name: csv_cell(cell) for name, cell in row.items()} for row in rows)


def _write_json(path: Path, content: object) -> None:
    """Write all or nothing, so that a stopped run leaves no half cell behind."""
    unfinished = path.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(content, indent=1))
    unfinished.replace(path)
