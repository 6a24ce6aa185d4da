"""Runs a paper: measures its cells, stores them, writes tables and pictures.

Kernels free the GIL, so cells run in threads, one per core.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path

from unskew.display import csv_cell
from unskew_lab.papers.drawing import can_draw, draw
from unskew_lab.papers.judging import judged, median_rows, with_evidence
from unskew_lab.papers.specification import Cell, Claim, Figure, Paper, Row, Setting

Progress = Callable[[str, int, int], None]
"""Called with the figure's name, how many of its cells are done, and of how many."""


@dataclass(frozen=True, slots=True)
class FigureResult:
    """A figure with its claims as measured."""

    figure: Figure
    claims: Sequence[Claim]
    rows: Sequence[Row] = ()
    """Of all draws, numbered if there are several."""

    def as_rows(self) -> list[dict[str, object]]:
        """The claims in the form that `--json` prints."""
        return [{"figure": self.figure.name, **asdict(claim)} for claim in self.claims]


def reproduce(
    paper: Paper,
    setting: Setting,
    out: Path,
    figure: str | None = None,
    jobs: int | None = None,
    progress: Progress = lambda figure, done, cells: None,
    keep_rows: bool = False,
) -> list[FigureResult]:
    """Measure `paper`, or one figure of it, and write CSV, claims and pictures below `out`.

    Without the extra `plot` there are no pictures, and all the rest is the same. With `keep_rows`
    the results have the rows of every draw too: what was timed does not come again.
    """
    figures = paper.pick(figure)
    (out / "cells").mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(jobs or os.cpu_count()) as pool:
        try:
            measured = _Measurements(pool, out / "cells")
            started = [_Started.of(each, setting, measured) for each in figures]
            results = [each.finish(out, progress) for each in started]
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    rows = [row for result in results for row in result.as_rows()]
    _write_json(out / (f"claims-{figure}.json" if figure else "claims.json"), rows)
    if figure is None:
        streams = [path.stem for path in setting.streams()]
        result = {"paper": paper.name, "quick": setting.quick, "seed": setting.seed}
        kept = {each.figure.name: each.rows for each in results} if keep_rows else {}
        content = {**result, "kafka": bool(setting.kafka), "streams": streams, "claims": rows}
        _write_json(out / "result.json", {**content, "rows": kept} if keep_rows else content)
    return results


@dataclass(slots=True)
class _Measurements:
    """Every distinct cell once, however many figures and draws ask for it."""

    pool: ThreadPoolExecutor
    store: Path
    queued: dict[str, Future[Sequence[Row]]] = field(default_factory=dict)

    def start(self, cells: Sequence[Cell]) -> list[Future[Sequence[Row]]]:
        for cell in cells:
            if repr(cell) not in self.queued:
                self.queued[repr(cell)] = self.pool.submit(_recall_or_measure, cell, self.store)
        return [self.queued[repr(cell)] for cell in cells]


@dataclass(frozen=True, slots=True)
class _Started:
    """A figure whose cells are being measured: those of every draw, and of every real stream."""

    figure: Figure
    draws: Sequence[Sequence[Future[Sequence[Row]]]]
    real: Mapping[str, Sequence[Future[Sequence[Row]]]]

    @classmethod
    def of(cls, figure: Figure, setting: Setting, measured: _Measurements) -> _Started:
        """Queue the cells of a figure."""
        draws = [measured.start(figure.cells(setting.drawn(draw))) for draw in range(figure.draws)]
        real = figure.real(setting) if figure.real and setting.data else {}
        return cls(figure, draws, {name: measured.start(cells) for name, cells in real.items()})

    def finish(self, out: Path, progress: Progress) -> FigureResult:
        """Wait for the cells, then write the table and the picture of the medians."""
        figure = self.figure
        steps = _Steps(figure.name, progress, [*self.draws, *self.real.values()])
        draws = [steps.through(cells) for cells in self.draws]
        real = {name: steps.through(cells) for name, cells in self.real.items()}
        path = out / f"figure-{figure.name}"
        labelled = draws[0] if len(draws) == 1 else [
            {"draw": number, **row} for number, rows in enumerate(draws) for row in rows
        ]  # fmt: skip
        _write_csv(
            path.with_suffix(".csv"), [*labelled, *(r for rows in real.values() for r in rows)]
        )
        if figure.plot is not None and can_draw():
            draw(figure.plot(median_rows(draws)), path)
        return FigureResult(figure, with_evidence(figure, judged(figure, draws), real), labelled)


class _Steps:
    """Tells how many cells of a figure are done."""

    def __init__(
        self, name: str, progress: Progress, parts: Sequence[Sequence[Future[Sequence[Row]]]]
    ) -> None:
        self._tell = partial(progress, name)
        self._all = sum(len(part) for part in parts)
        self._done = 0
        self._tell(0, self._all)

    def through(self, cells: Sequence[Future[Sequence[Row]]]) -> list[Row]:
        rows: list[Row] = []
        for cell in cells:
            rows.extend(cell.result())
            self._done += 1
            self._tell(self._done, self._all)
        return rows


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
