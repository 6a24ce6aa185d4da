"""Settings of a plan, checked: capacities, slack, size of the table, sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unskew._spark.planning.statistics import COUNTERS
from unskew.checking import check_number, check_whole
from unskew.errors import ParameterError, UnknownNameError
from unskew.partitioners.contract import check_epsilon
from unskew.partitioners.split_planning import TABLE


@dataclass(frozen=True, slots=True, eq=False)
class PlanSettings:
    """What a user may say about a plan that is made from key frequencies."""

    capacities: NDArray[np.float64] | None = None
    """The relative speed of each worker; None if all are alike."""
    epsilon: float = 0.005
    """By how much a worker may exceed its fair share."""
    table: int = TABLE
    """The most keys that are routed by name; all others go by their hash."""
    sample: float | None = None
    """Share of the rows to read for statistics; None reads all."""

    @classmethod
    def of(cls, settings: Mapping[str, Any], workers: int) -> PlanSettings:
        """Check the names and the values of `settings`."""
        known = [field.name for field in fields(cls)]
        for name in settings:
            if name not in known:
                raise UnknownNameError("setting", name, known)
        made = cls(**settings)
        check_epsilon(made.epsilon)
        _check_table(made.table)
        _check_sample(made.sample)
        return replace(made, capacities=_speeds(made.capacities, workers))

    @property
    def of_planners(self) -> dict[str, Any]:
        """What `plan_split` and `plan_whole_keys` take."""
        return {"capacities": self.capacities, "epsilon": self.epsilon, "table": self.table}


def _speeds(capacities: Any, workers: int) -> NDArray[np.float64] | None:
    if capacities is None:
        return None
    try:
        speeds = np.asarray(capacities, dtype=np.float64)
    except (TypeError, ValueError):
        speeds = np.empty(0)
    if speeds.shape != (workers,) or not ((speeds > 0) & np.isfinite(speeds)).all():
        raise ParameterError(
            f"capacities={capacities!r} must be {workers} numbers above 0, one for each worker"
        )
    return speeds


def _check_table(table: int) -> None:
    check_whole("table", table)
    if not 0 <= table <= COUNTERS:
        raise ParameterError(
            f"table={table} is not in 0..{COUNTERS}, the keys that the statistics can name; "
            "light keys need no entry, they go by their hash"
        )


def _check_sample(sample: float | None) -> None:
    if sample is None:
        return
    check_number("sample", sample)
    if not 0 < sample <= 1:
        raise ParameterError(f"sample={sample} is not in 0..1; 0.1 reads the statistics of a tenth")
