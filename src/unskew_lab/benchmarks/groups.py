"""What a group costs: unskew's bulk engine beside Spark's own verbs, without any skew.

Groups are many and small, or few and large; the function returns one small row, so that the trips
to Python are what is measured. Beside the two ways of plain Spark (as it is, and with the rows
placed by `repartition(n, key)` first) stands what people do by hand: group by a coarser key and
call pandas' `groupby` inside. unskew runs with the rows placed by hash, and by `scheme="auto"` with
a memory of earlier runs; its best way counts. The limit is the time of a sorted shuffle into an
empty Python stage plus the bare loop's CPU, divided by the slots.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from unskew_lab.benchmarks.measuring import Measurement
from unskew_lab.session import new_session

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

SLOTS, PARTITIONS = 2, 8
"""Every verb is tried with rows placed on both numbers of partitions; the better one counts."""
REPEATS = 3
LONG = 12.0
"""A way that takes longer than this is not repeated."""
LIMIT = 1.15
BETTER = "the best of Spark's verb as it is and after repartition"
SCHEMA = "k bigint, n bigint, s double"


@dataclass(frozen=True)
class Cell:
    """A number of groups and rows, with the highest allowed ratios to plain Spark."""

    groups: int
    rows: int
    arrow: float
    pandas: float
    cogroup: float

    def __str__(self) -> str:
        return f"{self.groups:,} x {self.rows:,}"


CELLS = (
    Cell(20_000, 5, 0.35, 0.20, 0.45),
    Cell(20_000, 100, 0.60, 0.25, 0.65),
    Cell(2_000, 100, 0.85, 0.40, 0.90),
    Cell(200, 10_000, 1.05, 1.05, 1.05),
    Cell(20, 100_000, 1.05, 1.05, 1.05),
)
WIDE = Cell(20_000, 5, 0.35, 0.20, 0.45)

Job = Callable[[], "DataFrame"]


def run() -> Iterator[Measurement]:
    """Every cell with two columns, one with ten."""
    session = new_session(SLOTS)
    session.conf.set("spark.sql.shuffle.partitions", str(PARTITIONS))
    for cell in CELLS:
        yield from _cell(_rows(session, cell), cell, str(cell))
    narrow = _rows(session, WIDE)  # Kept: Spark frees the rows of a frame that is gone.
    wide = narrow.select("*", *_further()).localCheckpoint()
    yield from _cell(wide, WIDE, f"{WIDE}, ten columns")


def _rows(session: SparkSession, cell: Cell) -> DataFrame:
    from pyspark.sql import functions as F

    key = F.pmod(F.xxhash64("id"), F.lit(cell.groups)).alias("k")
    numbered = session.range(cell.groups * cell.rows)
    return numbered.select(key, F.rand(1).alias("v")).localCheckpoint()


def _further() -> list[Any]:
    """Strings, whole numbers of which some are missing, and times."""
    from pyspark.sql import functions as F

    number = (F.col("v") * 1000).cast("int")
    missing = F.when(number % 7 > 0, number)
    texts = [F.concat(F.lit(f"text {n} "), number).alias(f"t{n}") for n in range(3)]
    numbers = [(missing + n).alias(f"i{n}") for n in range(3)]
    times = [F.timestamp_seconds(number + n).alias(f"s{n}") for n in range(2)]
    return [*texts, *numbers, *times]


def _cell(rows: DataFrame, cell: Cell, what: str) -> Iterator[Measurement]:
    floor = _best({"empty": partial(_empty, rows)})["empty"]
    yield Measurement(f"{what}: sorted shuffle, empty Python stage", floor, 1.0, "itself", None)
    targets = {"applyInArrow": cell.arrow, "applyInPandas": cell.pandas, "cogroup": cell.cogroup}
    for verb, target in targets.items():
        with tempfile.TemporaryDirectory() as memory:
            times = _best(_ways(rows, verb, memory))
        plain = min(seconds for name, seconds in times.items() if name.startswith("Spark's"))
        ours = min(seconds for name, seconds in times.items() if name.startswith("unskew's"))
        yield Measurement(f"{what}: {verb}", ours, ours / plain, BETTER, target)
        for name, seconds in times.items():
            ratio = seconds / plain
            yield Measurement(f"{what}: {verb}, {name}", seconds, ratio, BETTER, None)
        if verb != "cogroup":
            limit = floor + _loop(rows, verb) / SLOTS
            yield Measurement(
                f"{what}: {verb}, the limit", ours, ours / limit, "floor + loop", LIMIT
            )


def _ways(rows: DataFrame, verb: str, memory: str) -> dict[str, Job]:
    import unskew

    grouped: dict[str, Any] = {"Spark's": rows.groupBy("k")}
    for count in (SLOTS, PARTITIONS):
        grouped[f"Spark's, placed on {count}"] = rows.repartition(count, "k").groupBy("k")
        ours = unskew.groupBy(rows, "k", workers=count, scheme="kg")
        grouped[f"unskew's, placed on {count}"] = ours
    if verb == "cogroup":
        return {name: partial(_cogrouped, each, each) for name, each in grouped.items()}
    function = _arrow if verb == "applyInArrow" else _pandas
    ways: dict[str, Job] = {
        name: partial(getattr(each, verb), function, SCHEMA) for name, each in grouped.items()
    }
    ways["unskew's, remembered"] = partial(_remembered, rows, verb, function, memory)
    if verb == "applyInPandas":
        ways["by hand, pandas' groupby inside a coarser key"] = partial(_by_hand, rows)
    return ways


def _best(ways: dict[str, Job]) -> dict[str, float]:
    """Each way's best time, taken in turn; all must give the same result."""
    from pyspark.sql import functions as F

    best: dict[str, float] = {}
    answers = set()
    for _ in range(REPEATS + 1):  # The first time also starts and warms everything up.
        for name, job in ways.items():
            if best.get(name, 0.0) > LONG:
                continue
            started = time.perf_counter()
            [answer] = job().agg(F.count("*"), F.sum("n")).collect()
            best[name] = min(best.get(name, np.inf), time.perf_counter() - started)
            answers.add(tuple(answer))
    assert len(answers) == 1, f"the ways disagree: {answers}"
    return best


def _arrow(table: pa.Table) -> pa.Table:
    total = pa.array([pc.sum(table["v"]).as_py()], pa.float64())
    return pa.table({"k": table["k"][:1], "n": pa.array([table.num_rows], pa.int64()), "s": total})


def _pandas(frame: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame({"k": [frame["k"].iloc[0]], "n": [len(frame)], "s": [frame["v"].sum()]})


def _both(left: pa.Table, right: pa.Table) -> pa.Table:
    return _arrow(left if left.num_rows else right)


def _remembered(rows: DataFrame, verb: str, function: Callable[..., Any], memory: str) -> DataFrame:
    """As "auto" runs a job that ran before."""
    import unskew

    unskew.remember(memory)
    try:
        result: DataFrame = getattr(unskew.groupBy(rows, "k"), verb)(function, SCHEMA)
    finally:
        unskew.remember(None)
    return result


def _cogrouped(left: Any, right: Any) -> DataFrame:
    result: DataFrame = left.cogroup(right).applyInArrow(_both, SCHEMA)
    return result


def _by_hand(rows: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    def inside(frame: pd.DataFrame) -> pd.DataFrame:
        import pandas as pd

        return pd.concat([_pandas(group) for _, group in frame.groupby("k")])

    coarse = rows.withColumn("coarse", F.pmod(F.xxhash64("k"), F.lit(PARTITIONS)))
    return coarse.groupBy("coarse").applyInPandas(inside, SCHEMA)


def _empty(rows: DataFrame) -> DataFrame:
    def through(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        count = sum(batch.num_rows for batch in batches)
        zero = pa.array([0], pa.int64())
        yield pa.record_batch({"k": zero, "n": pa.array([count], pa.int64()), "s": [0.0]})

    placed = rows.repartition(SLOTS, "k").sortWithinPartitions("k")
    return placed.mapInArrow(through, SCHEMA)


def _loop(rows: DataFrame, verb: str) -> float:
    """The CPU seconds of the bare loop over all groups, in this process."""
    import pandas as pd

    table = rows.orderBy("k").toArrow().combine_chunks()
    keys = table["k"].to_numpy()
    starts = np.concatenate([[0], np.flatnonzero(np.diff(keys)) + 1, [keys.size]]).tolist()
    bounds = list(pairwise(starts))
    frame = table.to_pandas()
    started = time.process_time()
    if verb == "applyInArrow":
        pa.concat_tables([_arrow(table.slice(a, b - a)) for a, b in bounds]).combine_chunks()
    else:
        pd.concat([_pandas(frame.iloc[a:b]) for a, b in bounds])
    return time.process_time() - started
