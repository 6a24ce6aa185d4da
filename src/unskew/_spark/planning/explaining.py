"""A partitioner's routing in words."""

from __future__ import annotations

import numpy as np

from unskew.partitioners import Partitioner, PlannedSplit, RoutingTable

_SHOWN = 5


def routing_in_words(partitioner: Partitioner) -> list[str]:
    """Lines that say where keys go."""
    if isinstance(partitioner, PlannedSplit):
        return _split_in_words(partitioner)
    if isinstance(partitioner, RoutingTable):
        base = partitioner.fallback.scheme
        return [
            f"routing   {partitioner.keys.size} keys by table, each to one worker; "
            f"all others by {base}"
        ]
    return [f"routing   every key by {partitioner.scheme}"]


def _split_in_words(split: PlannedSplit) -> list[str]:
    parts = np.diff(split.starts)
    lines = [
        f"routing   {split.keys.size} keys by table, {int((parts > 1).sum())} of them split; "
        "all others by hash"
    ]
    for entry in np.argsort(-parts, kind="stable")[:_SHOWN]:
        if parts[entry] > 1:
            first, last = split.starts[entry], split.starts[entry + 1]
            shown = [
                f"{share:.0%} to {owner}"
                for owner, share in zip(
                    split.owners[first:last][:_SHOWN],
                    split.shares[first:last][:_SHOWN],
                    strict=True,
                )
            ]
            more = "" if last - first <= _SHOWN else f" and {last - first - _SHOWN} more"
            lines.append(f"          {split.keys[entry]:016x}: {', '.join(shown)}{more}")
    return lines
