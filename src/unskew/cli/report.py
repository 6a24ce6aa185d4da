"""`unskew report`: the results in a folder as one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from unskew.cli.options import Json
from unskew.cli.terminal import console, print_json
from unskew.display import printable
from unskew.errors import InputError
from unskew.report.results.page import result_page
from unskew.report.results.reading import read_results

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder that holds the results.")]
Out = Annotated[Path | None, typer.Option(help="File of the page; DIR/report.html by default.")]


def report(folder: Folder, out: Out = None, as_json: Json = False) -> None:
    """Collect the results in a folder into one self-contained page.

    Takes the JSON of diagnose, compare, demo, reproduce, bench, run, simulate and rebalance,
    under any name that ends in .json, in the folder and below it. Other JSON files are listed.

    Examples:

      unskew compare --zipf 1.2 --workers 50 --json > results/compare.json

      unskew report results
    """
    results = read_results(folder)
    page, others = result_page(folder, results)
    target = folder / "report.html" if out is None else out
    try:
        target.write_text(page, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {target} ({error.strerror}); give --out FILE") from error
    known = [each for each in results if each.name not in {other.name for other in others}]
    if as_json:
        files = [{"file": each.name, "kind": each.kind} for each in known]
        unknown = [{"file": each.name, "why": each.reason} for each in others]
        print_json({"page": str(target), "results": files, "not_recognised": unknown})
        return
    for other in others:
        console.print(f"Not recognised: {escape(printable(other.name))} ({other.reason})")
    console.print(
        f"{len(known)} results. Page: {escape(str(target))}", highlight=False, soft_wrap=True
    )
