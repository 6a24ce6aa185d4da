"""Learned costs as bytes: what one task measured, on its way to the driver."""

from __future__ import annotations

import pyarrow as pa

from unskew.sketches.cost_pair import CostPair


def to_bytes(pair: CostPair) -> bytes:
    """A pair, for `from_bytes`."""
    cells = pair.to_arrow()
    sink = pa.BufferOutputStream()
    # Most cells of a task's matrices are empty.
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, cells.schema, options=options) as writer:
        writer.write_batch(cells)
    return bytes(sink.getvalue())


def from_bytes(data: bytes) -> CostPair:
    """Read what `to_bytes` wrote."""
    (cells,) = pa.ipc.open_stream(data)
    return CostPair.from_arrow(cells)
