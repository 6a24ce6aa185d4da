"""The history of a stream as CSV, safe for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

from unskew.display import csv_cell
from unskew.report.live.lines import FIGURES

COLUMNS = (*FIGURES, "hottest_key", "hottest_load")


def as_csv(records: Sequence[dict[str, Any]]) -> str:
    """A line for each batch, with its hottest key; no cell is a formula."""
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(COLUMNS)
    for record in records:
        hottest = record["hottest"][0] if record["hottest"] else ("", "")
        figures = ("" if record[name] is None else record[name] for name in FIGURES)
        writer.writerow([*figures, *map(csv_cell, hottest)])
    return written.getvalue()
