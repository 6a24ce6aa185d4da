"""The state of a stream as an ordinary DataFrame."""

from __future__ import annotations

import json

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from unskew._spark.stateful.commits import CommitLog
from unskew._spark.stateful.files import Files
from unskew._spark.stateful.layers import stored_state
from unskew.errors import StateError


def read_state(spark: SparkSession, checkpoint: str) -> DataFrame:
    """The state of every key after the last committed batch: the key's columns, then the state's.

    The query may run on; what is read is one commit's state. Files that its later merges replace
    stay for a few batches more.

    Parameters
    ----------
    spark : SparkSession
        A classic session.
    checkpoint : str
        The folder that `stateful` was given.

    Returns
    -------
    DataFrame
        One row for each key that has state.
    """
    files = Files(spark, f"{checkpoint}/state")
    commit = CommitLog(files).last(mend=False)
    if commit is None:
        raise StateError(f"{files.folder} has no commits; is {checkpoint!r} the checkpoint?")
    key, state = (
        StructType.fromJson(json.loads(each)).names for each in (commit.key, commit.state)
    )
    found = stored_state(spark, files, commit)
    return found.select(
        *(F.col("key")[name].alias(name) for name in key),
        *(F.col("state")[name].alias(name) for name in state),
    )
