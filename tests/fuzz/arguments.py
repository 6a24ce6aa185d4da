"""Arguments for parameters, by the parameter's name: for our verb and for Spark's twin.

A parameter that is added later is left at its default until it has a recipe here; a way that
needs a parameter without a recipe is not drawn, and a test says so.
"""

from __future__ import annotations

import functools
import inspect
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, get_args, get_origin

from pyspark.sql import Column
from tests.fuzz import aggregations, functions
from tests.fuzz.functions import Form
from tests.fuzz.keys import KeyForm, draw_key_form
from tests.fuzz.kinds import shows_any_equal
from tests.fuzz.tables import Table
from tests.fuzz.verbs import Way, literal_of, takes, ways

from unskew import partitioners
from unskew._spark.planning.join import COPY
from unskew._spark.planning.join_kinds import KINDS
from unskew._spark.planning.scheme import MEASURED
from unskew._spark.routing.route import IN_PLACE
from unskew.checking import alternatives
from unskew.errors import NeedError
from unskew.partitioners.settings import settings_of


@dataclass(frozen=True)
class Argument:
    """An argument of ours and the twin's; either may be missing."""

    ours: str | None = None
    plain: str | None = None
    droppable: bool = False

    @property
    def by_name(self) -> bool:
        return re.match(r"\w+=|\*\*", self.ours or "") is not None


@dataclass
class Drawing:
    """What the arguments of one job share."""

    draw: random.Random
    way: Way
    left: Table
    result: list[str]
    """Names for the columns of results."""
    odd: bool
    """Whether schemes and settings are drawn, or left alone."""
    workers: int | None = None
    """None leaves it to the session."""
    merge: bool = False
    """Whether a function of groups comes with a merge."""
    scheme: str = "auto"
    planned: bool = False
    """Whether the scheme is a plan, which takes no settings."""
    key: KeyForm = field(default_factory=KeyForm)
    """How the key of a grouping is given."""
    columns: bool = False
    """Whether aggregates are Spark's own, which go with none in Python."""
    cost: bool = False
    """Whether rows have a cost, in place of a key of the cost."""
    prelude: str = ""

    @property
    def id(self) -> int:
        return self.left.keys

    @property
    def values(self) -> list[int]:
        """The columns to aggregate: rarely the rows' number."""
        others = list(range(self.id + 1, len(self.left.fields)))
        return [self.id, *others * 3]

    @property
    def whole_keys(self) -> bool:
        """Whether all rows of a key must meet."""
        last = self.way.calls[-1][0]
        return last not in ("agg", "apply", "with_worker", "repartition") and not self.merge


def arguments(drawing: Drawing, call: int) -> list[Argument]:
    """The arguments of a call, in order."""
    found: list[Argument] = []
    for place, parameter in enumerate(drawing.way.parameters(call)):
        if call == 0 and place == 0:
            found.append(Argument("left"))
            continue
        recipe = _RECIPES.get(parameter.name)
        if recipe is None:
            if _required(parameter):
                raise LookupError(f"no recipe for {drawing.way.name}({parameter.name})")
            continue
        found.extend(recipe(drawing, call))
    return sorted(found, key=lambda each: each.by_name)


def drawable(way: Way) -> bool:
    """Whether there is a recipe for every parameter that a way needs."""
    return all(
        parameter.name in _RECIPES or not _required(parameter) or (call == 0 and place == 0)
        for call in range(len(way.calls))
        for place, parameter in enumerate(way.parameters(call))
    )


def undrawn() -> set[str]:
    """The parameters that no recipe is for."""
    names = {
        parameter.name
        for way in ways()
        for call in range(len(way.calls))
        for parameter in way.parameters(call)[call == 0 :]  # The first are the rows.
    }
    return names - set(_RECIPES)


def _required(parameter: inspect.Parameter) -> bool:
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return parameter.default is inspect.Parameter.empty and parameter.kind not in variable


def _option(name: str, text: str) -> Argument:
    return Argument(f"{name}={text}", droppable=True)


def _scheme(drawing: Drawing, call: int) -> Iterator[Argument]:
    draw = drawing.draw
    if not drawing.odd and draw.random() < 0.3:
        return
    listed = literal_of(drawing.way.calls[call][1], "scheme")
    if listed:
        legal = [each for each in listed if not (drawing.cost and each == "posg")]
        yield _option("scheme", repr(draw.choice(legal)))
        return
    need = "whole-key" if drawing.whole_keys else "mergeable"
    names = _legal(need, drawing.way.name == "join")
    if draw.random() < 0.1:
        names = tuple(partitioners.ALL)
    name = draw.choice(["auto", *names])
    # A plan is made for columns.
    by_name = not (drawing.key.computed or drawing.key.none) or draw.random() < 0.1
    if "plan" not in drawing.way.calls[0][0] and by_name and draw.random() < 0.2:
        drawing.planned = True
        yield _option(
            "scheme",
            f"unskew.plan(left, keys, {drawing.workers}, need={need!r}, scheme={name!r})",
        )
        return
    copies = drawing.way.name == "join" and draw.random() < 0.2
    drawing.scheme = COPY if copies else name
    yield _option("scheme", repr(drawing.scheme))
    if not drawing.whole_keys and drawing.way.calls[0][0] == "repartition":
        yield _option("need", "'mergeable'")


@functools.cache
def _legal(need: str, joins: bool) -> tuple[str, ...]:
    """The schemes that are not refused; the others are drawn now and then all the same."""
    found = []
    for name in partitioners.ALL:
        try:
            partitioners.check_legal(name, need)
        except NeedError:
            continue
        if not partitioners.ALL[name](workers=2).coordinated:  # type: ignore[call-arg]
            found.append(name)
    # The one that splits keys and is legal in joins, and the ways that most often are chosen.
    often = ["planned-split"] * (8 if joins or need == "mergeable" else 0)
    return (*found, *often, *[IN_PLACE] * (4 if need == "mergeable" and not joins else 0))


def _workers(drawing: Drawing, call: int) -> Iterator[Argument]:
    if drawing.workers is not None:
        yield _option("workers", str(drawing.workers))


def _settings(drawing: Drawing, call: int) -> Iterator[Argument]:
    """Those of the scheme, or of the plan that is made for it."""
    if drawing.planned or drawing.scheme in (IN_PLACE, COPY):
        return
    if drawing.scheme in MEASURED:
        for recipe in _SETTINGS.values():
            yield from recipe(drawing, call)
        return
    for name, hint in settings_of(drawing.scheme).items():
        texts = [text for kind in alternatives(hint) for text in _texts(kind)]
        if texts:
            yield from _setting(name, *texts)(drawing, call)


def _texts(kind: Any) -> list[str]:
    """Values of a type; those of most settings are in range."""
    if get_origin(kind) is Literal:
        return [repr(word) for word in get_args(kind)]
    known = {bool: ["True", "False"], int: ["1", "2", "64"], float: ["0.01", "0.5"]}
    return known.get(kind, [])


def _setting(name: str, *texts: str) -> Callable[[Drawing, int], Iterator[Argument]]:
    def drawn(drawing: Drawing, call: int) -> Iterator[Argument]:
        if drawing.odd and drawing.draw.random() < 0.15:
            yield _option(name, drawing.draw.choice(texts))

    return drawn


def _capacities(drawing: Drawing, call: int) -> Iterator[Argument]:
    if drawing.odd and drawing.workers is not None and drawing.draw.random() < 0.15:
        yield _option("capacities", str([1.0 + place for place in range(drawing.workers)]))


def _func(drawing: Drawing, call: int) -> Iterator[Argument]:
    draw, last = drawing.draw, drawing.way.calls[-1][0]
    arrow = "Arrow" in last
    if last.startswith("map"):
        identity = draw.random() < 0.5
        drawing.prelude += functions.of_batches(Form(arrow), identity, drawing.id, drawing.result)
        schema = "left.schema" if identity else functions.schema_of(drawing.result[:1])
    else:
        groups = 2 if "cogroup" in drawing.way.name else 1
        keys = drawing.left.fields[: drawing.left.keys]
        form = Form(
            arrow,
            groups,
            iterator=groups == 1 and draw.random() < 0.3,
            with_key=draw.random() < 0.4,
            shows_key=not any(shows_any_equal(key.sql) for key in keys),
            merge_iterator=draw.random() < 0.2,
        )
        names, types = drawing.result, functions.TYPES
        kept = drawing.left.fields[-1].sql
        # PySpark cannot take instants of a repeated hour inside arrays and structs of pandas: a
        # part of a key may return one where the whole key does not.
        fits = arrow or not drawing.merge or "<" not in kept or "timestamp" not in kept
        if draw.random() < 0.4 and fits:
            names, types = [*names, "kept"], (*types, kept)
        drawing.prelude += functions.of_groups(form, drawing.id, names)
        schema = functions.schema_of(names, types)
    yield Argument("work", "work")
    yield Argument(schema, schema)


def _merge(drawing: Drawing, call: int) -> Iterator[Argument]:
    if drawing.merge:
        yield _option("merge", "merged")


def _columns(drawing: Drawing, call: int) -> Iterator[Argument]:
    """Spark's own aggregates, which it names itself."""
    drawing.columns = drawing.draw.random() < 0.15
    for _ in range(drawing.draw.choice([0, 1, 2]) if drawing.columns else 0):
        column = aggregations.draw_column(drawing.draw, drawing.values)
        yield Argument(column, column, droppable=True)


def _named(drawing: Drawing, call: int) -> Iterator[Argument]:
    made = aggregations.draw_aggregates(drawing.draw, drawing.left, drawing.values, drawing.columns)
    names = [*drawing.result, "r4", "r5", "r6", "r7"]
    for name, (ours, plain) in zip(names, made, strict=False):
        yield Argument(f"**{{{name!r}: {ours}}}", f"{plain}.alias({name!r})", droppable=True)
    drawing.prelude = drawing.prelude or aggregations.REFERENCE


def _cost(drawing: Drawing, call: int) -> Iterator[Argument]:
    drawing.cost = drawing.draw.random() < 0.5
    hashed = "F.xxhash64(col(keys[0]).cast('string'))"  # Spark hashes no map.
    choices = [
        hashed,
        "F.length(col(keys[0]).cast('string'))",
        f"F.when({hashed} % 5 == 0, float('inf')).when({hashed} % 5 == 1, float('nan'))",
        f"F.pow(2.0, {hashed} % 20)",
        "F.rand(7)",
    ]
    if drawing.cost:
        yield Argument(f"cost={drawing.draw.choice(choices)}")


def _cost_key(drawing: Drawing, call: int) -> Iterator[Argument]:
    choices = ["keys", "keys[0]", "F.xxhash64(col(keys[0]).cast('string'))"]
    if not drawing.cost:
        yield Argument(f"cost_key={drawing.draw.choice(choices)}")


def _always(*given: Argument) -> Callable[[Drawing, int], Iterator[Argument]]:
    return lambda drawing, call: iter(given)


def _key(drawing: Drawing, call: int) -> Iterator[Argument]:
    yield Argument("keys", "*map(col, keys)")


def _keys(drawing: Drawing, call: int) -> Iterator[Argument]:
    """The key as Spark takes it, where the verb takes columns too."""
    if drawing.odd and takes(drawing.way.calls[call][1], "keys", Column):
        drawing.key = draw_key_form(drawing.draw)
    yield Argument(*(drawing.key.text("left", "keys", plain) for plain in (False, True)))


def _other(drawing: Drawing, call: int) -> Iterator[Argument]:
    """The other side of a cogroup, by the same key."""
    ours, plain = (drawing.key.text("right", "right_keys", plain) for plain in (False, True))
    given = ", ".join(filter(None, ["right", ours]))
    yield Argument(f"unskew.groupBy({given})", f"right.groupBy({plain or ''})")


def _how(drawing: Drawing, call: int) -> Iterator[Argument]:
    kind = repr(drawing.draw.choice([*KINDS, "full_outer", "LEFT"]))
    yield Argument(kind, kind)


_SETTINGS: dict[str, Callable[[Drawing, int], Iterator[Argument]]] = {
    "capacities": _capacities,
    "epsilon": _setting("epsilon", "0.1", "1.0", "0.001"),
    "table": _setting("table", "0", "1", "3"),
    "sample": _setting("sample", "0.5", "1.0"),
}
_RECIPES: dict[str, Callable[[Drawing, int], Iterator[Argument]]] = {
    **_SETTINGS,
    "rows": _always(Argument("left")),
    "right": _always(Argument("right", "right")),
    "on": _always(Argument("keys", "keys")),
    "how": _how,
    "key": _key,
    "keys": _keys,
    "workers": _workers,
    "scheme": _scheme,
    "need": _always(),  # Comes with the scheme.
    "settings": _settings,
    "seconds_per_row": _setting("seconds_per_row", "0.0", "0.5"),
    "pilot": _setting("pilot", "False"),
    "learn": _setting("learn", "0.5", "0.9", "0.001"),
    "func": _func,
    "schema": _always(),  # Comes with the function.
    "merge": _merge,
    "columns": _columns,
    "named": _named,
    "cost": _cost,
    "cost_key": _cost_key,
    "name": _always(Argument("name='worker of row'")),
    "other": _other,
}
