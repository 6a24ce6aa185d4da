"""`mapInArrow` and `mapInPandas` for rows that differ in cost, on batches and streams."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, get_args

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import NumericType, StructType

from unskew._spark.costs.cost_aware_map import CostAwareMap, CostKey
from unskew._spark.costs.known_costs import KnownCosts
from unskew._spark.costs.learned_costs import PosgStream, map_batch
from unskew._spark.costs.mapped_stream import CostliestFirstStream, MappedStream
from unskew._spark.costs.parts import Form, MapFunction
from unskew._spark.costs.shares import Marks
from unskew._spark.frames.files import is_connect
from unskew._spark.frames.keys import KeyColumns, check_rows, of_one_frame
from unskew._spark.frames.schemas import struct_of
from unskew._spark.planning.cost_model import CostHints
from unskew._spark.planning.memory import qualified
from unskew._spark.planning.notices import explained, tell
from unskew._spark.planning.row_costs import cost_column
from unskew.checking import check_number
from unskew.errors import ParameterError, ParameterTypeError, UnknownNameError
from unskew.partitioners.contract import check_workers

Scheme: TypeAlias = Literal["auto", "heavy-first", "posg"]


def mapInArrow(  # noqa: N802 - the name of its twin in PySpark
    df: DataFrame,
    func: MapFunction,
    schema: StructType | str,
    *,
    cost: str | Column | None = None,
    cost_key: CostKey | None = None,
    workers: int | None = None,
    scheme: Scheme = "auto",
    learn: float = 0.1,
    learned: str | Path | None = None,
    name: str | None = None,
    say: Callable[[str], None] = tell,
) -> DataFrame | MappedStream:
    """`df.mapInArrow(func, schema)` for rows that differ in cost: the costliest alone and first.

    Give `cost`, a number that grows with what a row costs, such as `F.length("text")`; or
    `cost_key`, on which the cost depends in a way that only running tells. A few heavy rows get
    tasks of their own, which start first; the others are packed into chunks of equal cost, or stay
    where they are. Where a forecast sees no gain, and where costs are not known, the rows are left
    to plain Spark. What rows take is remembered from run to run (`unskew.remember`).

    When: rows are independent, and single rows are worth a large part of what a slot has to do.
        Not where rows are many and alike: plain Spark is as good, and is used.
    Cost: with `cost` one pass over it where the input is cheap to read; a shuffle if rows move.

    Parameters
    ----------
    df : DataFrame
        A batch or a stream.
    func : callable
        From an iterator of batches to an iterator of batches, as in PySpark.
    schema : StructType or str
        The columns that it returns.
    cost : str or Column, optional
        A number for each row, in any unit. A null, NaN or negative one counts as 0, an infinite
        one as the highest.
    cost_key : str, list of str or Column, optional
        What the cost of a row depends on.
    workers : int, optional
        How many tasks run at a time; as the session says if not given.
    scheme : {"auto", "heavy-first", "posg"}
        "auto" goes by cost where the forecast expects a gain, "heavy-first" always; "posg" learns
        from a slice of the rows, or from batch to batch, and assigns rows by `cost_key`.
    learn : float
        For "posg": share of a batch's rows that is run first, to learn what rows cost.
    learned : str or Path, optional
        The folder in which a stream keeps what it has learned, for a restart; `unskew/costs` in
        the folder of its checkpoint if not given. With "posg" a file, and none if not given.
    name : str, optional
        Under which a batch is remembered; made from the place of the call if not given.
    say : callable
        Gets one line: the decision and the reason. They are logged and, in interactive shells,
        printed if not given.

    Returns
    -------
    DataFrame or MappedStream
        For a stream a `MappedStream`, which places and learns from every micro-batch: start what
        its `foreachBatch(sink)` gives.
    """
    asked = _Asked(cost, cost_key, workers, scheme, learn, learned, name, say)
    return asked.mapped(df, func, schema, "arrow")


def mapInPandas(  # noqa: N802 - the name of its twin in PySpark
    df: DataFrame,
    func: MapFunction,
    schema: StructType | str,
    *,
    cost: str | Column | None = None,
    cost_key: CostKey | None = None,
    workers: int | None = None,
    scheme: Scheme = "auto",
    learn: float = 0.1,
    learned: str | Path | None = None,
    name: str | None = None,
    say: Callable[[str], None] = tell,
) -> DataFrame | MappedStream:
    """`df.mapInPandas(func, schema)` for rows that differ in cost: the costliest alone and first.

    As `mapInArrow` in everything else.
    """
    asked = _Asked(cost, cost_key, workers, scheme, learn, learned, name, say)
    return asked.mapped(df, func, schema, "pandas")


class _Asked(NamedTuple):
    """What the user asks for, besides the map itself."""

    cost: str | Column | None
    cost_key: CostKey | None
    workers: int | None
    scheme: Scheme
    learn: float
    learned: str | Path | None
    name: str | None
    say: Callable[[str], None]

    def mapped(
        self, df: DataFrame, func: MapFunction, schema: StructType | str, form: Form
    ) -> DataFrame | MappedStream:
        """Check everything before any job runs, and map."""
        check_rows("df", df)
        self._check()
        if not df.isStreaming and self.learned is not None:
            raise ParameterError(
                f"learned={str(self.learned)!r} is for streams; batches use unskew.remember(path)"
            )
        if self.scheme == "posg":
            return self._by_key(df, func, schema, form)
        work = self._known(df, func, schema, form)
        if df.isStreaming:
            return self._stream(df, work)
        result, plan = work.run(df)
        self.say(f"{plan.way.name}: {plan.why}")
        return explained(result, plan)

    def _check(self) -> None:
        if (self.cost is None) == (self.cost_key is None):
            raise ParameterError(
                "give either cost, a number for each row, or cost_key, on which the cost depends"
            )
        check_number("learn", self.learn)
        if not 0 < self.learn < 1:
            raise ParameterError(
                f"learn={self.learn} is not between 0 and 1; 0.1 learns from a tenth"
            )
        if self.scheme not in get_args(Scheme):
            raise UnknownNameError("scheme", self.scheme, get_args(Scheme))
        if self.scheme == "posg" and self.cost is not None:
            raise ParameterError("scheme='posg' learns what a key costs; give cost_key, not cost")
        if self.workers is not None:
            check_workers(self.workers)
        CostHints.of(name=self.name)

    def _by_key(
        self, df: DataFrame, func: MapFunction, schema: StructType | str, form: Form
    ) -> DataFrame | MappedStream:
        assert self.cost_key is not None
        work = CostAwareMap.of(df, func, schema, form, self.cost_key, self.workers)
        if not df.isStreaming:
            return map_batch(df, work, self.learn, self.say)
        kept = None if self.learned is None else Path(self.learned)
        return PosgStream(df, work, kept, self.say)

    def _stream(self, df: DataFrame, work: KnownCosts) -> MappedStream:
        folder = None if self.learned is None else qualified(df.sparkSession, str(self.learned))
        if is_connect(df):
            self._check_connect(df, folder)
        return CostliestFirstStream(df, work, folder, self.say)

    def _check_connect(self, df: DataFrame, folder: str | None) -> None:
        """Raise for what only a driver of the same process has: the query, and its DataFrames."""
        if self.cost_key is not None and folder is None:
            raise ParameterError(
                "Spark Connect does not tell the checkpoint of a stream, in which the costs of a "
                "cost_key are kept; give learned='a folder that the server and all executors reach'"
            )
        for name, given in (("cost", self.cost), ("cost_key", self.cost_key)):
            if isinstance(given, Column) and of_one_frame(given, df):
                raise ParameterError(
                    f"{name}={given} is a column of one DataFrame, and on Spark Connect batches of "
                    "a stream have columns of their own; name it by F.col(...)"
                )

    def _known(
        self, df: DataFrame, func: MapFunction, schema: StructType | str, form: Form
    ) -> KnownCosts:
        if not callable(func):
            raise ParameterTypeError("func", func, "a function of an iterator of batches")
        parsed = struct_of(schema)
        told_by, column, shown = self._told(df)
        always = self.scheme == "heavy-first"
        return KnownCosts(
            func, parsed, form, self.workers, told_by, column, shown, self.name, always
        )

    def _told(self, df: DataFrame) -> tuple[Marks, Column, tuple[str, ...]]:
        """What tells the costs of rows, and the names of its columns."""
        shown: tuple[str, ...] = ()
        if self.cost is not None:
            shown = (self.cost,) if isinstance(self.cost, str) else ()
            return "cost", cost_column(df, self.cost), shown
        key = self.cost_key
        if isinstance(key, Column):
            kind = df.select(F.xxhash64(key), key).schema[1].dataType
            number, hashed = key, F.xxhash64(key)
        else:
            columns = KeyColumns.of(df, key)  # type: ignore[arg-type]
            kind, shown = columns.fields[0].dataType, columns.names
            number, hashed = columns.columns[0], columns.hash
        if isinstance(kind, NumericType) and len(shown) < 2:
            # Null is a key, too: that of no number.
            return "number", F.coalesce(number.cast("double"), F.lit(float("nan"))), shown
        return "key", hashed, shown
