"""How quick a core is, beside that of the machine on which the cost model's figures were measured.

A task finds out, as tasks run elsewhere than the driver; so this imports nothing.
"""

from __future__ import annotations

import time

_THERE = 1.35e-3  # Seconds that the fixed work takes on that machine.
_ROUNDS = 20_000
_QUICKEST, _SLOWEST = 0.5, 4.0  # What is beyond them was rather measured wrong.


def measured_pace() -> float:
    """How many times as long a core takes here: the least of a few, it is not always ours alone."""
    seconds = min(_fixed_work() for _ in range(4))
    return min(max(seconds / _THERE, _QUICKEST), _SLOWEST)


def _fixed_work() -> float:
    began = time.perf_counter()
    total = 0
    for each in range(_ROUNDS):
        total = (total * 31 + each) & 0xFFFF
    return time.perf_counter() - began
