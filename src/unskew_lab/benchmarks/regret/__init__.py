"""How far `scheme="auto"` is from the best way in hindsight: `unskew bench regret`.

Every job runs in every legal way of ours by its name, in the ways that people write by hand, and
with "auto": on its first run, and when it remembers two earlier ones. Costly rows are emulated by
sleeping, so that eight slots work side by side on any machine. All ways of a job must give the rows
of plain Spark.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from unskew.errors import UnknownNameError
from unskew_lab.benchmarks.measuring import Measurement
from unskew_lab.benchmarks.regret.figures import JobMeasurement, measurement_of, summary
from unskew_lab.benchmarks.regret.jobs import JOBS, SLOTS, Job, stream_jobs
from unskew_lab.benchmarks.regret.racing import race

__all__ = ["JOBS", "JobMeasurement", "chosen_jobs", "run"]


def run(
    data: Path | None = None, names: Sequence[str] = (), scale: int = 1
) -> Iterator[Measurement]:
    """Every job as soon as it is measured, then the summary; real streams if a folder is given."""
    jobs = chosen_jobs(JOBS if data is None else stream_jobs(data), names)
    yield from measured([job.scaled(scale) for job in jobs])


def chosen_jobs(jobs: Sequence[Job], names: Sequence[str]) -> list[Job]:
    """The jobs whose name holds one of these texts; all if there are none."""
    chosen = [job for job in jobs if not names or any(text in job.name for text in names)]
    if not chosen:
        raise UnknownNameError("job", " ".join(names), [job.name for job in jobs])
    return chosen


def measured(jobs: Sequence[Job]) -> Iterator[Measurement]:
    """The jobs on a session of their own, then the summary of all."""
    from unskew_lab.benchmarks.regret.inputs import Inputs
    from unskew_lab.benchmarks.regret.ways import JobWays, warm_up
    from unskew_lab.session import new_session

    session = new_session(SLOTS)
    found: list[JobMeasurement] = []
    with tempfile.TemporaryDirectory() as folder:
        inputs = Inputs(session, Path(folder))
        warm_up(jobs, inputs)
        for job in jobs:
            ways = JobWays.of(job, inputs)
            ways.learn()
            found.append(measurement_of(job, race(ways.all()), ways.forecast_seconds()))
            yield found[-1]
    yield from summary(found)
