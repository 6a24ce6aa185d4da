"""Calls of a user's function of pandas groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from pyspark.sql.types import StructType

from unskew._spark.engine.calls import Collector, Function, Side, called
from unskew._spark.engine.frame_results import FrameResults
from unskew._spark.engine.group_frames import GroupFrames
from unskew._spark.engine.spark_rules import CallForm, GroupKind, WorkerSettings


@dataclass(frozen=True, slots=True)
class PandasCall:
    """A function of pandas frames, or of iterators of pandas frames."""

    kind: ClassVar[GroupKind] = "pandas"
    function: Function
    form: CallForm
    schema: StructType
    settings: WorkerSettings

    def collector(self) -> Collector:
        """Frames, checked and converted as Spark does."""
        return FrameResults(self.schema, self.settings)

    def of_bundle(self, sides: Sequence[Side], keys: Sequence[pa.Array]) -> Iterator[Any]:
        """The result of each group."""
        call = called(self.function, self.form)
        frames = [GroupFrames(side, self.settings) for side in sides]
        for group, key in enumerate(self._keys(keys, sides[0].starts.size - 1)):
            yield call(key, *(each.frame(group) for each in frames))

    def of_stream(
        self, key: Sequence[pa.Array], batches: Iterator[pa.RecordBatch]
    ) -> Iterator[pa.Table]:
        """The results of one group."""
        shown = map(self._frame, batches)
        results = FrameResults(self.schema, self.settings)
        (first,) = self._keys(key, 1)
        for result in called(self.function, self.form)(first, shown):
            results.add(result)
            yield results.taken().rows

    def _frame(self, batch: pa.RecordBatch) -> Any:
        bounds = np.array([0, batch.num_rows])
        return GroupFrames(Side(pa.Table.from_batches([batch]), bounds), self.settings).frame(0)

    def _keys(self, keys: Sequence[pa.Array], groups: int) -> Iterator[tuple[Any, ...]]:
        if not self.form.with_key or not keys:
            return iter([()] * groups)
        rows = pa.table(list(keys), names=[str(place) for place in range(len(keys))])
        values = GroupFrames(Side(rows, np.arange(groups + 1)), self.settings)
        return (values.first_row(group) for group in range(groups))
