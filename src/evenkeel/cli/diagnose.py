"""`evenkeel diagnose`: how skewed a file's key is, and what to do about it."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenkeel.cli.terminal import Json, errors, print_json
from evenkeel.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

InputPath = Annotated[Path, typer.Argument(help="A Parquet, CSV or JSON-lines file or folder.")]
Key = Annotated[list[str], typer.Option(help="The key column; repeat for several.")]
Workers = Annotated[int | None, typer.Option(help="How many workers to spread the rows over.")]
Sample = Annotated[
    float | None, typer.Option(help="Share of the rows to measure; all if not given.")
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

      evenkeel diagnose clicks.parquet --key user_id --workers 64
    """
    if find_spec("pyspark") is None:
        raise InputError("diagnose needs Spark: pip install 'evenkeel[spark]'")
    _check_file(input_path)
    from evenkeel.spark.diagnosis import diagnose as diagnose_rows

    with errors.status("Starting Spark and reading ..."):
        found = diagnose_rows(_read(input_path), key, workers, sample=sample)
    if html is not None:
        html.write_text(found.to_html(), encoding="utf-8")
    if as_json:
        print_json(found.as_dict())
    else:
        found.show()
    sys.stdout.flush()


_TEXT = {".csv", ".tsv", ".txt", ".json", ".jsonl", ".ndjson"}


def _check_file(path: Path) -> None:
    """Refuse what Spark could not read, before it takes ten seconds to start."""
    if not path.exists():
        raise InputError(f"there is no file {path}")
    if path.is_file() and path.suffix.lower() not in _TEXT:
        with path.open("rb") as file:
            if file.read(4) != b"PAR1":
                raise InputError(
                    f"{path.name} is not Parquet; text files end in {', '.join(sorted(_TEXT))}"
                )


def _read(path: Path) -> DataFrame:
    from pyspark.errors import PySparkException

    from evenkeel.spark.session import local_session

    reader = local_session().read
    try:
        match path.suffix.lower():
            case ".csv" | ".tsv" | ".txt":
                separator = "\t" if path.suffix.lower() == ".tsv" else ","
                return reader.csv(str(path), header=True, inferSchema=True, sep=separator)
            case ".json" | ".jsonl" | ".ndjson":
                return reader.json(str(path))
        return reader.parquet(str(path))
    except PySparkException as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path.name} cannot be read as a table: {reason}") from error
