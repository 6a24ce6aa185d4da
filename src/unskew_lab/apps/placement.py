"""Placement of rows by key, for apps that keep a state per worker instead of per key."""

from __future__ import annotations

from pyspark.sql import DataFrame

import unskew
from unskew.partitioners import PLANNED
from unskew.partitioners.serialization import build
from unskew_lab.apps.contract import Scheme


def prepare_scheme(rows: DataFrame, key: str, scheme: Scheme, workers: int) -> tuple[Scheme, int]:
    """The scheme, with its plan made from `rows` if it needs one, and the most workers of a key."""
    if isinstance(scheme, str) and scheme in ("auto", *PLANNED):
        scheme = unskew.plan(rows, key, workers, need="any-row", scheme=scheme)
    if isinstance(scheme, unskew.Plan):
        return scheme, scheme.partitioner.max_replicas
    partitioner = build(scheme, workers) if isinstance(scheme, str) else scheme
    return scheme, partitioner.max_replicas


def by_key(rows: DataFrame, key: str, scheme: Scheme, workers: int) -> DataFrame:
    """Place the rows on their workers: task i of the next stage has the rows of worker i.

    A state per worker takes any rows. What is asked of the scheme is few workers per key.
    """
    return unskew.repartition(rows, key, workers, scheme=scheme, need="any-row")
