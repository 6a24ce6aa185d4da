"""The time of routing, as a multiple of numpy's `keys % 50` over the same keys."""

from __future__ import annotations

import numpy as np

from unskew.kernels import KeyHashes
from unskew.partitioners import ConsistentGrouping, Partitioner, RandomChoices
from unskew.partitioners.serialization import build
from unskew.workloads import ZipfStream
from unskew_lab.benchmarks.measuring import Measurement, best_of

MESSAGES = 10_000_000
KEYS = 100_000
WORKERS = 50
REPEATS = 5
TARGETS = {
    "kg": 1.0,
    "pkg": 4.0,
    "ring": 10.0,
    "porc": 10.0,
    "ch": 10.0,
    "cg": 10.0,
    "two-random-choices": 10.0,
    "w-choices": 15.0,
    "d-choices": 15.0,
    "sg": None,
    "static-two-choices": None,
    "online-greedy": None,
}
FULL_BINS: tuple[Partitioner, ...] = (RandomChoices(500), ConsistentGrouping(50, virtual=10))


def run() -> list[Measurement]:
    """Every scheme at z = 1.0, head schemes at 1.4 and 2.0, and full bins at z = 2.0."""
    keys = _keys(1.0)
    baseline = best_of(REPEATS, lambda: keys % 50)
    rows = [Measurement("numpy keys % 50", baseline, 1.0, "itself", None)]
    for scheme, target in TARGETS.items():
        seconds = _route_time(build(scheme, WORKERS), keys)
        rows.append(
            Measurement(f"{scheme} z=1.0", seconds, seconds / baseline, "numpy keys % 50", target)
        )
    for exponent in (1.4, 2.0):
        keys = _keys(exponent)
        for scheme in ("w-choices", "d-choices"):
            seconds = _route_time(build(scheme, WORKERS), keys)
            name = f"{scheme} z={exponent}"
            rows.append(
                Measurement(name, seconds, seconds / baseline, "numpy keys % 50", TARGETS[scheme])
            )
    pkg = _route_time(build("pkg", WORKERS), keys)
    rows.append(Measurement("pkg z=2.0", pkg, pkg / baseline, "numpy keys % 50", TARGETS["pkg"]))
    for partitioner in FULL_BINS:
        seconds = _route_time(partitioner, keys)
        rows.append(
            Measurement(f"{partitioner.scheme} 500 bins z=2.0", seconds, seconds / pkg, "pkg", 5.0)
        )
    return rows


def _keys(exponent: float) -> KeyHashes:
    return np.concatenate(list(ZipfStream(exponent, KEYS, MESSAGES).chunks()))


def _route_time(partitioner: Partitioner, keys: KeyHashes) -> float:
    partitioner.router().route(keys[:1000])  # compiles
    return best_of(REPEATS, lambda: partitioner.router().route(keys))
