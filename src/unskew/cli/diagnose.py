"""`unskew diagnose`: the skew of a key in a file, with a recommendation."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from unskew.cli.options import Json
from unskew.cli.outputs import check_extra, check_out_file
from unskew.cli.spark_progress import spark_bar
from unskew.cli.tables import check_file, read_table
from unskew.cli.terminal import print_json, waiting
from unskew.partitioners.contract import check_workers

InputPath = Annotated[Path, typer.Argument(help="A Parquet, CSV or JSON-lines file or folder.")]
Key = Annotated[list[str], typer.Option(help="The key column; repeat for several.")]
Workers = Annotated[int | None, typer.Option(help="Number of workers to spread the rows over.")]
Sample = Annotated[
    float | None, typer.Option(help="Fraction of the rows to measure; all if not given.")
]
Page = Annotated[Path | None, typer.Option("--html", help="Also write a page to this file.")]


def diagnose(
    input_path: InputPath,
    key: Key,
    workers: Workers = None,
    sample: Sample = None,
    html: Page = None,
    as_json: Json = False,
) -> None:
    """Measure the skew of a key and forecast every scheme, on an embedded Spark.

    Example:

      unskew diagnose clicks.parquet --key user_id --workers 64
    """
    check_extra("pyspark", "spark")
    check_file(input_path)
    check_out_file(html, "--html")
    if workers is not None:
        check_workers(workers)
    from unskew._spark.planning.settings import PlanSettings

    PlanSettings.of({"sample": sample}, workers or 1)
    from unskew._spark.diagnosis.keys import diagnose as diagnose_rows
    from unskew._spark.session import local_session

    with waiting("Starting Spark"):
        spark = local_session()
    with spark_bar("Reading and counting", spark, shown=not as_json):
        found = diagnose_rows(read_table(spark, input_path), key, workers, sample=sample)
    if html is not None:
        html.write_text(found.to_html(), encoding="utf-8")
    if as_json:
        print_json(found.as_dict())
    else:
        found.show()
    sys.stdout.flush()
