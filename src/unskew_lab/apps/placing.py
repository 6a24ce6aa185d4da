"""Rows by key onto workers, for apps that keep a state per worker rather than per key."""

from __future__ import annotations

from pyspark.sql import DataFrame

import unskew
from unskew.partitioners import PLANNED
from unskew.partitioners.serialization import build
from unskew_lab.apps.contract import Scheme


def made_ready(rows: DataFrame, key: str, scheme: Scheme, workers: int) -> tuple[Scheme, int]:
    """The scheme, planned on `rows` if it plans, and on how many workers it may put one key."""
    if isinstance(scheme, str) and scheme in ("auto", *PLANNED):
        scheme = unskew.plan(rows, key, workers, need="any-row", scheme=scheme)
    partitioner = build(scheme, workers) if isinstance(scheme, str) else scheme.partitioner
    return scheme, partitioner.max_replicas


def by_key(rows: DataFrame, key: str, scheme: Scheme, workers: int) -> DataFrame:
    """The rows on their workers: task i of what follows has those of worker i.

    A state per worker takes any rows. What is asked of the scheme is few workers per key.
    """
    return unskew.repartition(rows, key, workers, scheme=scheme, need="any-row")
