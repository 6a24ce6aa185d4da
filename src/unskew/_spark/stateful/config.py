"""Everything that a user decides about a stateful stream, checked."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

import pandas as pd

from unskew._spark.stateful.controller import Controller, Cost
from unskew._spark.stateful.processor import Form, Processor
from unskew._spark.stateful.schema import StateShape
from unskew.errors import ParameterError
from unskew.rebalancing import Rebalancer

Duration = str | datetime.timedelta


@dataclass(frozen=True, slots=True)
class Work:
    """A processor, its columns, and how it is balanced."""

    processor: Processor
    shape: StateShape
    form: Form
    workers: int
    planner: Rebalancer | None
    theta: float
    interval: int
    window: int
    cost: Cost
    payback: int | None
    delay: int
    """How far the watermark stays behind the latest event, in microseconds."""
    timeout: int | None
    merge_after: int
    """Layers over the base that are merged into one."""

    def controller(self) -> Controller:
        """A controller that remembers nothing yet."""
        return Controller(
            self.planner, self.theta, self.interval, self.window, self.cost, self.payback
        )


def micros(name: str, value: Duration) -> int:
    """A duration, as Spark writes them or as Python has them.

    >>> micros("timeout", "10 minutes")
    600000000
    """
    try:
        length = pd.Timedelta(value)
    except ValueError as error:
        raise ParameterError(f"{name}={value!r} is not a duration such as '10 minutes'") from error
    if length < pd.Timedelta(0):
        raise ParameterError(f"{name}={value!r} is less than nothing")
    return int(length.total_seconds() * 1_000_000)
