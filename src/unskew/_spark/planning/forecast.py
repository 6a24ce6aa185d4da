"""The expected balance and memory of a scheme on measured keys."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unskew._spark.planning.statistics import KeyProfile
from unskew.partitioners import Partitioner
from unskew.partitioners.contract import WorkerIds
from unskew.partitioners.split_planning import planned_loads
from unskew.partitioners.static import SplitTable
from unskew.sketches.key_table import PairSet

STREAM = 1_000_000
"""How many rows are simulated for schemes that learn as they route."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """The expected balance and memory of a scheme."""

    max_over_mean: float
    """The highest utilisation relative to the mean."""
    uncertainty: float
    """By how much it may come out higher: sketch errors and the luck of the draw."""
    replicas: int
    """(worker, key) pairs: what is held, and merged in the end."""


def forecast(
    profile: KeyProfile,
    partitioner: Partitioner,
    capacities: NDArray[np.float64] | None = None,
    drawn: bool = False,
) -> Forecast:
    """Forecast `partitioner` on the keys of `profile`; `drawn` if rows draw their part by hash."""
    static = partitioner.static
    if static is None:
        return _simulated(profile, partitioner, capacities)
    table = static.table
    loads = planned_loads(table, profile.keys, profile.counts, profile.rest, static.arcs)
    noise = draw_noise(profile, table) if drawn else np.zeros(profile.workers)
    highest = _highest(loads, noise, capacities)
    luck = noise + (0.0 if static.arcs is None else arc_noise(profile, static.arcs))
    mean = max(float(loads.mean()), 1.0)
    moved = np.sqrt(np.bincount(table.owners, minlength=profile.workers).max(initial=0))
    cuts = table.owners.size - table.keys.size
    return Forecast(
        highest,
        float(luck.max(initial=0.0) + profile.error * moved) / mean,
        profile.distinct + cuts,
    )


def draw_noise(profile: KeyProfile, table: SplitTable) -> NDArray[np.float64]:
    """The standard deviation of each worker's load when rows draw their part by a hash."""
    weights = np.zeros(table.keys.size)
    heavy = np.isin(profile.keys, table.keys)
    weights[np.searchsorted(table.keys, profile.keys[heavy])] = profile.counts[heavy]
    rows = np.repeat(weights, np.diff(table.starts))
    variance = rows * table.shares * (1 - table.shares)
    spread: NDArray[np.float64] = np.sqrt(
        np.bincount(table.owners, variance, minlength=profile.workers)
    )
    return spread


def arc_noise(profile: KeyProfile, arcs: WorkerIds) -> NDArray[np.float64]:
    """The standard deviation of what light keys bring to each worker by its arcs.

    It is known what all of them bring to a range of key grouping, but not which of its arcs they
    are in: a worker that has a part of a range gets a binomial number of its keys.
    """
    light = profile.rest * profile.rest.sum() / max(profile.distinct - profile.keys.size, 1)
    ranges = np.arange(arcs.size) * profile.workers // arcs.size
    pairs, owned = np.unique(ranges * profile.workers + arcs, return_counts=True)
    of, worker = np.divmod(pairs, profile.workers)
    part = np.minimum(owned * profile.workers / arcs.size, 1.0)
    spread: NDArray[np.float64] = np.sqrt(
        np.bincount(worker, light[of] * part * (1 - part), minlength=profile.workers)
    )
    return spread


def _highest(
    loads: NDArray[np.float64],
    noise: NDArray[np.float64],
    capacities: NDArray[np.float64] | None,
) -> float:
    """The expected maximum over the mean; workers that differ in capacity by utilisation."""
    capacity = np.ones(loads.size) if capacities is None else capacities
    if not noise.any():
        return _over_mean(loads, capacity)
    luck = np.random.default_rng(0).standard_normal((100, loads.size))
    return float(np.mean([_over_mean(loads + noise * draw, capacity) for draw in luck]))


def _over_mean(loads: NDArray[np.float64], capacity: NDArray[np.float64]) -> float:
    fair = float(loads.sum()) / float(capacity.sum())
    return float((loads / capacity).max()) / fair if fair else 1.0


def _simulated(
    profile: KeyProfile, partitioner: Partitioner, capacities: NDArray[np.float64] | None
) -> Forecast:
    stream = synthetic_stream(profile)
    if stream.size == 0:
        return Forecast(1.0, 0.0, 0)
    workers = partitioner.router().route(stream)
    loads = np.bincount(workers, minlength=profile.workers).astype(np.float64)
    pairs = PairSet()
    pairs.add(stream, workers)
    replication = pairs.size / np.unique(stream).size
    capacity = np.ones(loads.size) if capacities is None else capacities
    return Forecast(
        _over_mean(loads, capacity),
        # The simulated rows are a sample: the largest load has a relative error of about this.
        float(np.sqrt(profile.workers / stream.size)),
        round(replication * profile.distinct),
    )


def synthetic_stream(profile: KeyProfile) -> NDArray[np.uint64]:
    """A short stream with the profile's heavy keys; the rest is spread evenly over the others."""
    random = np.random.default_rng(0)
    size = min(profile.rows, STREAM)
    others = max(profile.distinct - profile.keys.size, 0)
    weights = np.append(profile.counts, max(profile.rows - profile.counts.sum(), 0.0))
    if size == 0 or weights.sum() == 0:
        return np.empty(0, dtype=np.uint64)
    counts = random.multinomial(size, weights / weights.sum())
    names = random.integers(0, 2**64, max(others, 1), dtype=np.uint64)
    rest = names[random.integers(0, names.size, counts[-1])]
    stream: NDArray[np.uint64] = np.concatenate([np.repeat(profile.keys, counts[:-1]), rest])
    random.shuffle(stream)
    return stream
