"""What the apps with keyed state share: their schemes, and running a stream to its end."""

from __future__ import annotations

from unskew.errors import ParameterError
from unskew.rebalancing import ALL
from unskew.streaming import BatchProgress, Sink, StatefulStream
from unskew_lab.apps.contract import Scheme

HASHED = "kg"
SCHEMES = (HASHED, *ALL)
"""By hash for good, or by a table that one of the planners makes anew between batches."""


def rebalancer_of(scheme: Scheme) -> str | None:
    """What `unskew.streaming.stateful` calls the scheme."""
    if not isinstance(scheme, str):
        raise ParameterError("state that moves is planned while it runs; name a rebalancer")
    return None if scheme == HASHED else scheme


def run_to_end(stream: StatefulStream, sink: Sink | str) -> list[BatchProgress]:
    """All there is; what each batch did."""
    stream.start(sink, availableNow=True).awaitTermination()
    return stream.progress
