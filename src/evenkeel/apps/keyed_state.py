"""What the apps with keyed state share: their schemes, and running a stream to its end."""

from __future__ import annotations

from evenkeel.apps.contract import Scheme
from evenkeel.errors import ParameterError
from evenkeel.rebalancing import ALL
from evenkeel.spark.state.run import Sink
from evenkeel.spark.state.stream import StatefulStream
from evenkeel.spark.streaming import BatchProgress

HASHED = "kg"
SCHEMES = (HASHED, *ALL)
"""By hash for good, or by a table that one of the planners makes anew between batches."""


def rebalancer_of(scheme: Scheme) -> str | None:
    """What `ek.streaming.stateful` calls the scheme."""
    if not isinstance(scheme, str):
        raise ParameterError("state that moves is planned while it runs; name a rebalancer")
    return None if scheme == HASHED else scheme


def run_to_end(stream: StatefulStream, sink: Sink | str) -> list[BatchProgress]:
    """All there is; what each batch did."""
    stream.start(sink, availableNow=True).awaitTermination()
    return stream.progress
