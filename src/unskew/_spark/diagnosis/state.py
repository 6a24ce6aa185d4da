"""Is the state of a streaming query spread evenly? Reads any checkpoint, ours and Spark's."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import SparkSession

from unskew._spark.diagnosis.state_stores import moving_stores, spark_stores
from unskew._spark.diagnosis.store_skew import StoreSkew
from unskew.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class StateDiagnosis:
    """How the state of a query is spread over its partitions."""

    checkpoint: str
    batch: int
    """The last batch that is part of it."""
    kind: str
    """Whose checkpoint it is: spark or unskew."""
    stores: tuple[StoreSkew, ...]

    def as_dict(self) -> dict[str, Any]:
        """All of it as JSON has it."""
        stores = [store.as_dict() for store in self.stores]
        return {
            "checkpoint": self.checkpoint, "batch": self.batch, "kind": self.kind, "stores": stores
        }  # fmt: skip

    def to_json(self) -> str:
        """All of it as JSON."""
        return json.dumps(self.as_dict(), ensure_ascii=False)

    def to_pandas(self) -> pd.DataFrame:
        """A row for each partition of each store."""
        import pandas as pd

        return pd.DataFrame(
            [
                (each.operator, each.name, each.store, place, each.unit, load)
                for each in self.stores
                for place, load in enumerate(each.loads)
            ],
            columns=["operator", "name", "store", "partition", "unit", "load"],
        )

    def to_html(self) -> str:
        """A page that stands alone."""
        from unskew._spark.diagnosis.state_html import page

        return page(self)

    def _repr_html_(self) -> str:
        from unskew._spark.diagnosis.state_html import fragment

        return fragment(self)

    def show(self) -> None:
        """Print it as a table."""
        from unskew._spark.diagnosis.state_html import print_state

        print_state(self)


def diagnose_state(checkpoint: str, *, spark: SparkSession | None = None) -> StateDiagnosis:
    """Read how the state in `checkpoint` is spread over partitions; the query may run or not.

    For keyed state that unskew moves (`unskew.streaming.stateful`) a partition is a worker.

    Parameters
    ----------
    checkpoint : str
        The `checkpointLocation` of a query with state, unskew's or not.
    spark : SparkSession, optional
        The session that reads it; the active one if not given.

    Returns
    -------
    StateDiagnosis
        With `show()`, `to_html()`, `to_pandas()`, `to_json()`.
    """
    session = spark or SparkSession.getActiveSession()
    if session is None:
        raise InputError("there is no Spark session to read the checkpoint with; give spark=")
    found: tuple[int, Sequence[StoreSkew]] | None = moving_stores(session, str(checkpoint))
    kind = "unskew" if found else "spark"
    batch, stores = found or spark_stores(session, str(checkpoint))
    return StateDiagnosis(str(checkpoint), batch, kind, tuple(stores))
