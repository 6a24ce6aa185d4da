"""The verbs on streams: `unskew.streaming.groupBy`, `stateful`, and what shows how they run."""

from unskew._spark.costs.mapped_stream import MappedStream
from unskew._spark.monitoring.feeds import read_lines
from unskew._spark.monitoring.listener import BatchListener, batches, watch
from unskew._spark.monitoring.progress import BatchProgress
from unskew._spark.stateful.batch_job import Sink
from unskew._spark.stateful.processor import Processor
from unskew._spark.stateful.stream import StatefulStream, read_state, stateful
from unskew._spark.streaming.group_by import GroupedStream, groupBy

__all__ = [
    "BatchListener",
    "BatchProgress",
    "GroupedStream",
    "MappedStream",
    "Processor",
    "Sink",
    "StatefulStream",
    "batches",
    "groupBy",
    "read_lines",
    "read_state",
    "stateful",
    "watch",
]
