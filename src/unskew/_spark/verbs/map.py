"""`mapInArrow` and `mapInPandas` for functions whose cost depends on the row."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from unskew._spark.costs.break_even import judge
from unskew._spark.costs.cost_aware_map import CostKey, Function, Work
from unskew._spark.costs.samples import logger
from unskew._spark.costs.timer import COSTS
from unskew._spark.frames.keys import content_hash
from unskew._spark.frames.physical_plan import is_replayable, physical_plan
from unskew._spark.streaming.map import MappedStream
from unskew.checking import check_number
from unskew.errors import ParameterError, UnknownNameError

Scheme: TypeAlias = Literal["auto", "posg"]

_SHARES = 1 << 16
# Plans that give the same rows whenever they run: scans and plain expressions.
_SCANS = re.compile(r"^(\*\(\d+\) )?(FileScan|Scan|Range|LocalTableScan|BatchScan|InMemory|Table)")
_PLAIN = re.compile(r"^(\*\(\d+\) )?(Project|Filter|ColumnarToRow|InputAdapter|WholeStageCodegen)")
_RANDOM = re.compile(r"\b(rand|randn|uuid|shuffle|random|monotonically_increasing_id)\(|UDF|Python")


def mapInArrow(  # noqa: N802 - the name of its twin in PySpark
    df: DataFrame,
    func: Function,
    schema: StructType | str,
    *,
    cost_key: CostKey,
    workers: int | None = None,
    scheme: Scheme = "auto",
    learn: float = 0.1,
    sketches: str | Path | None = None,
    say: Callable[[str], None] = logger.info,
) -> DataFrame | MappedStream:
    """`df.mapInArrow(func, schema)`, its rows dealt to tasks by what they will cost.

    A share `learn` of the rows is run right away, dealt evenly, and timed by `cost_key`: a column,
    columns, or an expression such as `F.length("text") / 1000`. Its result is kept (a local
    checkpoint), not computed again. The rest is dealt to `workers` tasks by expected cost, or left
    to plain Spark where a forecast says that this does not pay; `say` is told which and why.

    When: rows are independent, cost milliseconds or more, and their cost depends on something that
        a column tells. Not for cheap functions: the shuffle costs more than it levels.
    Cost: rows of a scan are read twice, others are checkpointed; at most 1,024 more calls of the
        function per task, with a row or a few each, while costs are learned.

    Parameters
    ----------
    df : DataFrame
        A batch or a stream.
    func : callable
        From an iterator of batches to an iterator of batches, as in PySpark.
    schema : StructType or str
        The columns that it returns.
    cost_key : str, list of str or Column
        What the cost of a row depends on.
    workers : int, optional
        How many tasks; as many as run at a time if not given.
    scheme : {"auto", "posg"}
        "auto" schedules by cost where a forecast says that it pays, "posg" always.
    learn : float
        Share of a batch's rows that is run first, to learn what rows cost.
    sketches : str or Path, optional
        The file in which a stream keeps what it has learned.
    say : callable
        Is told whether it pays, and why; the log `unskew` if not given.

    Returns
    -------
    DataFrame or MappedStream
        For a stream a `MappedStream`, which learns from every batch.
    """
    return _mapped(df, func, schema, "arrow", cost_key, workers, scheme, learn, sketches, say)


def mapInPandas(  # noqa: N802 - the name of its twin in PySpark
    df: DataFrame,
    func: Function,
    schema: StructType | str,
    *,
    cost_key: CostKey,
    workers: int | None = None,
    scheme: Scheme = "auto",
    learn: float = 0.1,
    sketches: str | Path | None = None,
    say: Callable[[str], None] = logger.info,
) -> DataFrame | MappedStream:
    """`df.mapInPandas(func, schema)`, its rows dealt to tasks by what they will cost.

    As `mapInArrow` in everything else.
    """
    return _mapped(df, func, schema, "pandas", cost_key, workers, scheme, learn, sketches, say)


def _mapped(
    df: DataFrame,
    func: Function,
    schema: StructType | str,
    form: Literal["arrow", "pandas"],
    cost_key: CostKey,
    workers: int | None,
    scheme: Scheme,
    learn: float,
    sketches: str | Path | None,
    say: Callable[[str], None],
) -> DataFrame | MappedStream:
    check_number("learn", learn)
    if not 0 < learn < 1:
        raise ParameterError(f"learn={learn} is not between 0 and 1; 0.1 learns from a tenth")
    if scheme not in get_args(Scheme):
        raise UnknownNameError("scheme", scheme, get_args(Scheme))
    always = scheme == "posg"
    work = Work.of(df, func, schema, form, cost_key, workers)
    if df.isStreaming:
        return MappedStream(df, work, None if sketches is None else Path(sketches), say, always)
    if sketches is not None:
        raise ParameterError("sketches is for streams; a batch learns from its own rows")
    return _map_batch(df, work, learn, say, always)


def _map_batch(
    df: DataFrame, work: Work, learn: float, say: Callable[[str], None], always: bool
) -> DataFrame:
    """Run a slice and learn, then deal the rest."""
    # Cut in two, the rows are computed twice, and both times they must be the same.
    rows = df if gives_the_same_rows(df) else df.localCheckpoint(eager=False)
    drawn = _draw(rows, _SHARES, salt=1)
    first, rest = rows.filter(drawn < _cut(learn)), rows.filter(drawn >= _cut(learn))
    spread = _draw(rows, work.workers, salt=2).cast("int")
    # Kept with the column of costs, which is then read from there: Spark Connect does not bring
    # back what is observed while a checkpoint is written.
    kept = work.timed(first, spread).localCheckpoint(eager=True)
    costs = work.joined(row[COSTS] for row in kept.select(COSTS).dropna().collect())
    done = kept.drop(COSTS)
    verdict = judge(costs, work.workers, times=(1 - learn) / learn)
    say(f"posg {'pays' if verdict.pays else 'does not pay'}: {verdict.why}")
    if not (verdict.pays or always):
        return done.union(work.alone(rest))
    return done.union(work.dealt(rest, work.by_cost(rest, costs.pair)))


def _cut(learn: float) -> int:
    return round(learn * _SHARES)


def _draw(rows: DataFrame, limit: int, salt: int) -> Column:
    """A number below `limit` for each row, the same whenever the row is computed.

    By position where the order of rows is fixed: rows that are equal then differ.
    """
    source = F.monotonically_increasing_id() if is_replayable(rows) else content_hash(rows)
    return F.pmod(F.xxhash64(source, F.lit(salt)), F.lit(limit))


def gives_the_same_rows(rows: DataFrame) -> bool:
    """Whether the plan is a scan with plain expressions, which can be run twice."""
    lines = [line.lstrip(" +-:") for line in physical_plan(rows).splitlines()[1:] if line.strip()]
    return all(_SCANS.match(line) or _PLAIN.match(line) for line in lines) and not any(
        _RANDOM.search(line) for line in lines
    )
