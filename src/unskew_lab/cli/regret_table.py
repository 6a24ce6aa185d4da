"""The regret of `auto`, job by job, and in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from rich import box
from rich.table import Table

from unskew_lab.benchmarks import Measurement
from unskew_lab.benchmarks.regret import JobMeasurement
from unskew_lab.benchmarks.regret.figures import MEMORY, PLAIN


def regret_table(jobs: Sequence[JobMeasurement]) -> Table:
    """A line for each job; regret and gain of the first run, and with memory if there is any."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("job", ratio=1)
    for heading in ("plain", "best", "", "auto", "memory", "regret", "memory", "gain"):
        table.add_column(heading, justify="left" if heading == "" else "right", no_wrap=True)
    for job in jobs:
        table.add_row(
            job.name,
            f"{job.ways[PLAIN]:.2f}",
            f"{job.ways[job.best]:.2f}",
            job.best,
            f"{job.seconds:.2f}",
            _or_dash(job.ways.get(MEMORY)),
            f"{job.ratio:.2f}",
            _or_dash(job.memory_regret),
            f"{job.gain:.1f} x",
        )
    return table


def verdict(jobs: Sequence[JobMeasurement], rows: Sequence[Measurement]) -> str:
    """What came out, in one sentence, and what was left out in another."""
    judged = [row.met for row in rows if row.met is not None]
    said = (
        f"On {len(jobs)} {'job' if len(jobs) == 1 else 'jobs'} auto takes "
        f"{_times([job.ratio for job in jobs])} on the first run"
    )
    remembered = [job.memory_regret for job in jobs if job.memory_regret is not None]
    if remembered:
        said += f" and {_times(remembered)} with memory"
    said += f"; {sum(judged)} of {len(judged)} targets are met."
    missing = {way: why.split(";")[0] for job in jobs for way, why in job.left_out.items()}
    listed = "; ".join(f"{way} ({why})" for way, why in sorted(missing.items()))
    return f"{said} Left out: {listed}." if missing else said


def _times(regrets: Sequence[float]) -> str:
    return f"{median(regrets):.2f} times the best way's time (median; {max(regrets):.2f} at worst)"


def _or_dash(value: float | None) -> str:
    return "-" if value is None else f"{value:.2f}"
