"""Definitions of all metrics, each once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def max_over_mean(loads: NDArray[Any]) -> float:
    """The highest load relative to the mean; 1.0 is perfect.

    >>> max_over_mean(np.array([3, 1, 2]))
    1.5
    """
    mean = float(np.mean(loads))
    return float(np.max(loads)) / mean if mean else 1.0


def max_over_min(loads: NDArray[Any]) -> float:
    """The highest load relative to the lowest; 1.0 is perfect, inf if only some loads are 0.

    >>> max_over_min(np.array([3, 1, 2]))
    3.0
    """
    highest, lowest = float(np.max(loads)), float(np.min(loads))
    if lowest > 0:
        return highest / lowest
    return float("inf") if highest > 0 else 1.0


def imbalance(loads: NDArray[Any]) -> float:
    """How far the highest load is above the mean, as a share of all messages.

    >>> imbalance(np.array([3, 1, 2]))
    0.16666666666666666
    """
    total = float(np.sum(loads))
    return (float(np.max(loads)) - total / loads.size) / total if total else 0.0


def replication(replicas: int, keys: int) -> float:
    """On how many workers a key is found on average.

    >>> replication(replicas=150, keys=100)
    1.5
    """
    return replicas / keys if keys else 1.0
