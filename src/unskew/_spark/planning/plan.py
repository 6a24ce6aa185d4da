"""A plan: a routing decision with its reason, to be inspected, stored and applied."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from pyspark.sql import DataFrame

from unskew._spark.frames.keys import KeyColumns
from unskew._spark.planning.forecast import Forecast
from unskew._spark.planning.hot_key import HotKey
from unskew._spark.planning.key_names import KeyNames
from unskew._spark.planning.own_call import why_own_call
from unskew._spark.routing.route import Draw, Lowering, Route
from unskew.display import printable
from unskew.errors import InputError, ParameterError
from unskew.partitioners import Need, Partitioner
from unskew.partitioners.serialization import from_json, to_json
from unskew.partitioners.static import SplitTable

_LISTED = 5


class WayForecast(NamedTuple):
    """A way to run the job, and the seconds that it is expected to take."""

    name: str
    tasks: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Plan:
    """How rows are routed, why, and what to expect."""

    key: tuple[str, ...]
    types: tuple[str, ...]
    """The types of the key's columns: another type has other hashes."""
    route: Route
    need: Need
    why: str
    rows: int | None = None
    """How many rows were measured; None if the plan needed no statistics."""
    forecast: Forecast | None = None
    statistics: str = "none"
    """How the frequencies were measured."""
    ways: tuple[WayForecast, ...] = ()
    """What was weighed, the one that is taken first; empty if the user named a scheme."""
    hot: HotKey | None = None
    """The key that decides how long all takes, if it has to stay whole."""
    heavy: tuple[int, ...] = ()
    """The hashes, as signed numbers, of a few of the keys in the table: the heaviest, in order."""
    names: KeyNames | None = field(default=None, compare=False, repr=False)
    """Who knows the values of the keys; None if the plan was read from JSON."""

    @property
    def partitioner(self) -> Partitioner:
        """The scheme with its table."""
        return self.route.partitioner

    @property
    def workers(self) -> int:
        """How many workers the rows are spread over."""
        return self.route.workers

    @property
    def lowering(self) -> Lowering:
        """How it runs: as a Catalyst expression ("native") or in Python tasks ("online")."""
        return self.route.lowering

    @property
    def plain(self) -> bool:
        """Whether plain Spark is as good: verbs then leave the work to it."""
        return self.route.plain

    @property
    def forecast_seconds(self) -> float | None:
        """How long the job is expected to take in its way; None if no ways were weighed."""
        return self.ways[0].seconds if self.ways else None

    def apply(self, rows: DataFrame) -> DataFrame:
        """Place each row on its worker's partition; the columns stay as they are."""
        return self.route.repartition(rows, self.key_of(rows))

    def with_worker(self, rows: DataFrame, name: str | None = None) -> DataFrame:
        """Add the worker of each row as a column, without moving any."""
        return self.route.with_worker(rows, self.key_of(rows), name)

    def key_of(self, rows: DataFrame) -> KeyColumns:
        """The plan's key in `rows`; raises if its types differ from those that were planned."""
        key = KeyColumns.of(rows, self.key)
        self.check_key(key)
        return key

    def check_key(self, key: KeyColumns) -> None:
        """Raise unless the plan was made for this key."""
        if self.key != key.names:
            raise ParameterError(f"the plan is for the key {self.key}, not for {key.names}")
        for column, planned in zip(key.fields, self.types, strict=True):
            if column.dataType.simpleString() != planned:
                raise ParameterError(
                    f"the plan is for {column.name} of type {planned}, but the rows have "
                    f"{column.dataType.simpleString()}; cast the column or make a new plan"
                )

    def explain(self) -> None:
        """Print the scheme, the reason, the forecast and the routing.

        Looks up the values of the keys that are split, if the rows are quick to read.
        """
        print(self._text(self.names))

    def __str__(self) -> str:
        return self._text(None)

    def _text(self, names: KeyNames | None) -> str:
        keys = ", ".join(map(printable, self.key)) or "no key"
        lines = [f"scheme    {self.route.name} for {self.need.value} work by {keys}"]
        lines.append(f"reason    {self.why}")
        lines.extend(weighed_lines(self.ways))
        if self.forecast is not None:
            lines.append(
                f"forecast  max/mean {self.forecast.max_over_mean:.3f} "
                f"(+{self.forecast.uncertainty:.3f}), {self.forecast.replicas:,} replicas on "
                f"{self.workers} workers"
            )
        if self.rows is not None:
            lines.append(f"measured  {self.rows:,} rows by {self.statistics}")
        by = f", drawn by {self.route.draw}" if self.route.draw != "content" else ""
        lines.append(f"runs      {self.route.lowering}{by}")
        own_call = why_own_call(bool(self.key))
        if own_call is not None:
            lines.append(f"groups    by Spark's own call: {own_call}")
        lines.extend(_routing(self.partitioner, self.heavy, names))
        if self.hot is not None:
            lines.extend(self.hot.lines(names))
        return "\n".join(lines)

    def to_json(self) -> str:
        """The plan as JSON; `Plan.from_json` reads it back."""
        return json.dumps(
            {
                "key": self.key,
                "types": self.types,
                "partitioner": json.loads(to_json(self.partitioner)),
                "lowering": self.route.lowering,
                "draw": self.route.draw,
                "plain": self.plain,
                "stays": self.route.stays,
                "merges": self.route.merges,
                "need": self.need.value,
                "why": self.why,
                "rows": self.rows,
                "forecast": None if self.forecast is None else asdict(self.forecast),
                "statistics": self.statistics,
                "ways": [way._asdict() for way in self.ways],
                "hot": self.hot,
                "heavy": self.heavy,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Plan:
        """The plan that `to_json` wrote."""
        document = _checked(text)
        partitioner = from_json(json.dumps(document["partitioner"]))
        route = Route.of(partitioner, document["lowering"], document["draw"])
        forecast = document["forecast"]
        return cls(
            tuple(document["key"]),
            tuple(document["types"]),
            replace(route, **{name: document[name] for name in ("plain", "stays", "merges")}),
            Need(document["need"]),
            document["why"],
            document["rows"],
            None if forecast is None else Forecast(**forecast),
            document["statistics"],
            tuple(WayForecast(**way) for way in document["ways"]),
            None if document["hot"] is None else HotKey(*document["hot"]),
            tuple(document["heavy"]),
        )


def _checked(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise _invalid(f"{type(error).__name__}: {error}") from None
    if not isinstance(document, dict):
        raise _invalid(f"a JSON {type(document).__name__}, not an object")
    document.setdefault("heavy", [])  # Plans were written without.
    for name, is_valid in _VALID.items():
        if name not in document:
            raise _invalid(f"{name} is missing")
        if not is_valid(document[name]):
            raise _invalid(f"{name}={str(document[name])[:80]}")
    if len(document["key"]) != len(document["types"]):
        raise _invalid("key and types differ in length")
    return document


def _are_words(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(each, str) for each in value)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_hash(value: Any) -> bool:
    return _is_count(value) and -(1 << 63) <= value < 1 << 63


def _is_forecast(value: Any) -> bool:
    return value is None or (
        isinstance(value, dict)
        and value.keys() == set(Forecast.__slots__)
        and all(isinstance(each, int | float) for each in value.values())
    )


def _is_way(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == set(WayForecast._fields)
        and isinstance(value["name"], str)
        and _is_count(value["tasks"])
        and isinstance(value["seconds"], int | float)
    )


def _is_hot_key(value: Any) -> bool:
    if not isinstance(value, list):
        return value is None
    return (
        len(value) == len(HotKey._fields)
        and all(_is_count(each) for each in (value[0], value[2]))
        and isinstance(value[1], int | float)
    )


_VALID: dict[str, Callable[[Any], bool]] = {
    "key": _are_words,
    "types": _are_words,
    "partitioner": lambda value: isinstance(value, dict),
    "lowering": lambda value: value in get_args(Lowering),
    "draw": lambda value: value in get_args(Draw),
    "plain": lambda value: isinstance(value, bool),
    "stays": lambda value: isinstance(value, bool),
    "merges": lambda value: isinstance(value, bool),
    "need": lambda value: value in [need.value for need in Need],
    "why": lambda value: isinstance(value, str),
    "rows": lambda value: value is None or _is_count(value),
    "forecast": _is_forecast,
    "statistics": lambda value: isinstance(value, str),
    "ways": lambda value: isinstance(value, list) and all(map(_is_way, value)),
    "hot": _is_hot_key,
    "heavy": lambda value: isinstance(value, list) and all(map(_is_hash, value)),
}


def _invalid(what: str) -> InputError:
    return InputError(f"not a valid plan ({what}); create a new one with plan(...)")


def weighed_lines(ways: Sequence[WayForecast]) -> Iterator[str]:
    """A line for each way that was weighed."""
    for place, way in enumerate(ways):
        head = "" if place else "weighed"
        yield f"{head:9} {way.name:14}{way.tasks:5} tasks {way.seconds:8.2f} s"


def key_lines(table: SplitTable, names: KeyNames | None) -> Iterator[str]:
    """The keys that are cut most, by their values if somebody knows them, and their workers."""
    most_cut = np.argsort(-table.parts, kind="stable")[:_LISTED]
    yield from _entry_lines(table, most_cut[table.parts[most_cut] > 1], names)


def _entry_lines(
    table: SplitTable, entries: NDArray[np.int64], names: KeyNames | None
) -> Iterator[str]:
    hashes = table.keys[entries].view(np.int64).tolist()
    known = {} if names is None else names.of(hashes)
    for entry, hash_ in zip(entries, hashes, strict=True):
        key = known.get(hash_, f"{table.keys[entry]:016x}")
        yield f"          {key}: {_shares(table, entry)}"


def _routing(partitioner: Partitioner, heavy: Sequence[int], names: KeyNames | None) -> list[str]:
    """Lines that say where keys go: those that are cut most, else the heaviest."""
    static = partitioner.static
    if static is None or not static.table.keys.size:
        return [f"routing   every key by {partitioner.scheme}"]
    table = static.table
    base = "hash" if static.arcs is None else "arc of the hash"
    told = key_lines(table, names)
    if heavy and not static.cut.size:
        known = np.isin(np.array(heavy).view(np.uint64), table.keys)
        hashes = np.array(heavy).view(np.uint64)[known]
        told = _entry_lines(table, np.searchsorted(table.keys, hashes), names)
    return [
        f"routing   {table.keys.size} keys by table, {static.cut.size} of them split; "
        f"all others by {base}",
        *told,
    ]


def _shares(table: SplitTable, entry: int) -> str:
    parts = range(table.starts[entry], table.starts[entry + 1])
    listed = [f"{table.shares[part]:.0%} to {table.owners[part]}" for part in parts[:_LISTED]]
    more = "" if len(parts) <= _LISTED else f" and {len(parts) - _LISTED} more"
    return ", ".join(listed) + more
