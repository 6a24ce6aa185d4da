"""Regret and gain of each job, and what they come to over all jobs.

Regret is the time of "auto" over that of the best way. The best is the best of all ways without
memory and the judged one itself, so that it is never below 1; what only memory makes possible is
not held against a first run.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import geometric_mean, median

from unskew_lab.benchmarks.measuring import Measurement
from unskew_lab.benchmarks.regret.jobs import Job, Kind, Skew
from unskew_lab.benchmarks.regret.racing import Race

PLAIN, AUTO, MEMORY = "plain Spark", "auto", "auto with memory"
AQE, SALTED_8, SALTED_64 = "AQE's skew settings", "salting, 8", "salting, 64"
FIRST_RUN = {"median": 1.10, "90th percentile": None, "worst": 1.5}
WITH_MEMORY = {"median": 1.05, "90th percentile": 1.15, "worst": 1.3}
HEAVY_JOBS, ANY_JOB, SKEWED_JOIN = 1 / 2, 1 / 0.95, 1.05


@dataclass(frozen=True)
class JobMeasurement(Measurement):
    """A job: `seconds` and `ratio` are of auto's first run, `ratio` is its regret."""

    kind: Kind
    much_work: bool
    skew: Skew
    rows: int
    ways: Mapping[str, float]
    """The seconds of each way, its best take."""
    takes: Mapping[str, Sequence[float]]
    left_out: Mapping[str, str]
    """Ways that this version does not have, with the reason."""
    best: str
    """The fastest way of all."""
    memory_regret: float | None
    """The regret when two earlier runs are remembered."""
    gain: float
    """Plain Spark's seconds over auto's, on its first run."""
    memory_gain: float | None
    forecast_seconds: float | None
    forecast_error: float | None
    """The forecast over the measured seconds, less 1."""


def regret(ways: Mapping[str, float], judged: str) -> float:
    """The seconds of the judged way over those of the best that it could have taken."""
    others = [seconds for name, seconds in ways.items() if name != MEMORY]
    return ways[judged] / min(ways[judged], *others)


def measurement_of(job: Job, race: Race, forecast_seconds: float | None = None) -> JobMeasurement:
    """What a race says about a job."""
    ways = race.seconds
    best = min(ways, key=lambda name: ways[name])
    remembers = MEMORY in ways
    return JobMeasurement(
        name=job.name,
        seconds=ways[AUTO],
        ratio=regret(ways, AUTO),
        against="the best way",
        target=None,
        kind=job.kind,
        much_work=job.much,
        skew=job.skew,
        rows=job.rows,
        ways=ways,
        takes=race.takes,
        left_out=race.left_out,
        best=best,
        memory_regret=regret(ways, MEMORY) if remembers else None,
        gain=ways[PLAIN] / ways[AUTO],
        memory_gain=ways[PLAIN] / ways[MEMORY] if remembers else None,
        forecast_seconds=forecast_seconds,
        forecast_error=None if forecast_seconds is None else forecast_seconds / ways[AUTO] - 1,
    )


def summary(jobs: Sequence[JobMeasurement]) -> Iterator[Measurement]:
    """Regret over all jobs, gain, and the skewed joins, each with its target."""
    for judged, when, targets in (
        (AUTO, "first run", FIRST_RUN),
        (MEMORY, "with memory", WITH_MEMORY),
    ):
        having = [job for job in jobs if judged in job.ways]
        if not having:
            continue
        yield from _regrets(having, judged, when, targets)
        yield from _gains(having, judged, when)
        yield from _joins(having, judged, when)


def percentile_90(values: Sequence[float]) -> float:
    """The least value that nine of ten do not exceed."""
    return sorted(values)[math.ceil(0.9 * len(values)) - 1]


def _regrets(
    jobs: Sequence[JobMeasurement], judged: str, when: str, targets: Mapping[str, float | None]
) -> Iterator[Measurement]:
    values = [regret(job.ways, judged) for job in jobs]
    measures: dict[str, Callable[[list[float]], float]] = {
        "median": median,
        "90th percentile": percentile_90,
        "worst": max,
    }
    for name, measure in measures.items():
        what = f"regret of {len(jobs)} jobs, {when}: {name}"
        yield Measurement(
            what, _total(jobs, judged), measure(values), "the best way", targets[name]
        )


def _gains(jobs: Sequence[JobMeasurement], judged: str, when: str) -> Iterator[Measurement]:
    """As times over plain Spark's: a gain of 2 is a ratio of one half."""
    heavy = [job for job in jobs if job.skew == "heavy" and job.much_work]
    if heavy:
        mean = geometric_mean([_over_plain(job, judged) for job in heavy])
        what = f"time, heavy skew and much work, {when}: geometric mean"
        yield Measurement(what, _total(heavy, judged), mean, PLAIN, HEAVY_JOBS)
    worst = max(jobs, key=lambda job: _over_plain(job, judged))
    what = f"time, {when}: the least gain ({worst.name})"
    yield Measurement(what, worst.ways[judged], _over_plain(worst, judged), PLAIN, ANY_JOB)


def _joins(jobs: Sequence[JobMeasurement], judged: str, when: str) -> Iterator[Measurement]:
    for job in jobs:
        by_hand = [job.ways[way] for way in (AQE, SALTED_8, SALTED_64) if way in job.ways]
        if job.kind == "join" and job.skew == "heavy" and by_hand:
            mine = job.ways[judged]
            ratio, what = mine / min(by_hand), f"{job.name}, {when}"
            yield Measurement(what, mine, ratio, "the best of salting and AQE", SKEWED_JOIN)


def _over_plain(job: JobMeasurement, judged: str) -> float:
    return job.ways[judged] / job.ways[PLAIN]


def _total(jobs: Sequence[JobMeasurement], judged: str) -> float:
    return sum(job.ways[judged] for job in jobs)
