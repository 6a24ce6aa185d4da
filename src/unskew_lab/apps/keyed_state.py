"""Schemes of the apps with keyed state, and how their streams run to the end."""

from __future__ import annotations

from unskew.errors import ParameterError
from unskew.rebalancing import ALL, Rebalancer
from unskew.streaming import BatchProgress, Sink, StatefulStream
from unskew_lab.apps.contract import Scheme

HASHED = "kg"
SCHEMES = (HASHED, *ALL)
"""By hash, or by a table that one of the planners updates between batches."""


def rebalancer_of(scheme: Scheme | Rebalancer) -> str | Rebalancer | None:
    """The scheme as the `rebalancer` of `unskew.streaming.stateful`."""
    if isinstance(scheme, str):
        return None if scheme == HASHED else scheme
    if not isinstance(scheme, Rebalancer):
        raise ParameterError(
            f"an app with keyed state plans while it runs; give one of {', '.join(SCHEMES)}"
        )
    return scheme


def run_to_end(stream: StatefulStream, sink: Sink | str) -> list[BatchProgress]:
    """Run until all input is processed; returns the progress of each batch."""
    stream.start(sink, availableNow=True).awaitTermination()
    return stream.progress
