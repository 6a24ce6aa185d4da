"""A case: a job on small tables, a pure function of seed and number, and its text."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from tests.fuzz.arguments import Argument, Drawing, arguments, drawable
from tests.fuzz.follow_ups import FOLLOW_UPS, PERSISTED
from tests.fuzz.keys import KEY_HELPERS
from tests.fuzz.kinds import PLAIN, draw_family
from tests.fuzz.names import draw_names, plain_names
from tests.fuzz.session_settings import draw_settings
from tests.fuzz.sources import OTHERS, SOURCES, THROUGH_FILES
from tests.fuzz.tables import SHAPES, Table, draw_kinds, draw_table, with_values
from tests.fuzz.verbs import Way, ways

CLASSES = ("types", "names", "data", "settings", "sources", "follow-ups", "verbs")
"""What is attacked; each in about half of the cases, so that a failure has few possible causes."""

IMPORTS = """\
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import from_arrow_type, to_arrow_type

import unskew


def col(name):
    return F.col("`" + name.replace("`", "``") + "`")
"""
HELPERS = f"{THROUGH_FILES}\n{OTHERS}\n{PERSISTED}\n{KEY_HELPERS}"


@dataclass(frozen=True)
class Call:
    """A call of a chain, with its arguments."""

    name: str
    arguments: tuple[Argument, ...]

    def text(self, plain: bool) -> str:
        given = [each.plain if plain else each.ours for each in self.arguments]
        return f"{self.name}({', '.join(each for each in given if each is not None)})"


@dataclass(frozen=True)
class Case:
    """Everything that a job is made of."""

    seed: int
    number: int
    left: Table
    right: Table | None
    source: str
    right_source: str
    settings: tuple[tuple[str, str], ...]
    keys: str
    """The names that the keys are called by; `{}` are the names that they have."""
    calls: tuple[Call, ...]
    in_spark: bool
    prelude: str
    follow_up: str
    traits: tuple[tuple[str, str], ...] = field(compare=False)
    """What is attacked and with what, such as ("names", "helper")."""

    @property
    def way(self) -> str:
        return ".".join(call.name for call in self.calls)

    def tables(self) -> str:
        """The text that makes `left`, `right` and their keys."""
        lines = _frame("left", self.left, self.source)
        if self.right is not None:
            lines += _frame("right", self.right, self.right_source)
            lines.append(self._keys("right", self.right))
        lines.append(self._keys("left", self.left))
        return "\n".join(lines) + "\n"

    def _keys(self, side: str, table: Table) -> str:
        name = "keys" if side == "left" else f"{side}_keys"
        return f"{name} = " + self.keys.format(f"{side}.columns[:{table.keys}]")

    @property
    def plain(self) -> str:
        """The job in plain Spark."""
        if not self.in_spark:
            return "left"
        return ".".join(["left", *(call.text(plain=True) for call in self.calls)])

    @property
    def ours(self) -> str:
        """The job in unskew."""
        text = ".".join(["unskew", *(call.text(plain=False) for call in self.calls)])
        return f"{text}.drop('worker of row')" if "worker of row" in text else text

    @property
    def follow(self) -> str:
        """What follows, as a function."""
        return (
            "def follow(rows):\n"
            "    rows = rows.toDF(*(f'c{place}' for place in range(len(rows.columns))))\n"
            f"    return {FOLLOW_UPS[self.follow_up]}\n"
        )


def _frame(name: str, table: Table, source: str) -> list[str]:
    made = table.range_text() if source == "range" and table.rows else table.text()
    return [f"rows = {made}", f"{name} = {SOURCES[source].format(id=table.keys)}"]


def draw_case(seed: int, number: int) -> Case:
    """Case `number` of a seed."""
    draw = random.Random(f"{seed}/{number}")
    attacked = {
        kind: draw.random() < (0.6 if kind in ("types", "names") else 0.5) for kind in CLASSES
    }
    known = [each for each in ways() if drawable(each)]
    way = draw.choices(known, [_weight(each) for each in known])[0]
    traits = {("verbs", way.name)}
    left, right = _tables(draw, way, attacked, traits)
    sources = [draw.choice(list(SOURCES)) if attacked["sources"] else "literals" for _ in "lr"]
    settings = draw_settings(draw, left.fields, attacked["settings"])
    follow_up = draw.choice(list(FOLLOW_UPS)) if attacked["follow-ups"] else "nothing"
    drawing = Drawing(draw, way, left, _result_names(draw, attacked["names"]), attacked["verbs"])
    drawing.workers = draw.choice([None, None, 1, 2, 3, 5])
    drawing.merge = len(way.calls) == 2 and draw.random() < 0.7
    calls = tuple(
        Call(name, tuple(arguments(drawing, call))) for call, (name, _) in enumerate(way.calls)
    )
    keys = "{}"
    if attacked["names"] and draw.random() < 0.1:
        keys = "[name.swapcase() for name in {}]"
        traits.add(("names", "another case"))
    traits |= {("sources", source) for source in sources[: 2 if right else 1]}
    traits |= {("settings", name) for name, _ in settings} | {("follow-ups", follow_up)}
    traits -= {("sources", "literals"), ("follow-ups", "nothing")}
    return Case(
        seed, number, left, right, sources[0], sources[1], settings, keys, calls, way.in_spark,
        drawing.prelude, follow_up, tuple(sorted(traits)),
    )  # fmt: skip


def _tables(
    draw: random.Random, way: Way, attacked: dict[str, bool], traits: set[tuple[str, str]]
) -> tuple[Table, Table | None]:
    aggregated = "named" in _parameters(way)
    family = draw_family(draw, aggregated) if attacked["types"] else ()
    # Values alone are of the family in some cases: keys that are refused hide what they do.
    keys = family if draw.random() < (0.4 if aggregated else 0.7) else ()
    kinds = draw_kinds(draw, draw.choice([1, 1, 1, 2, 2, 3]), keys, key=True)
    shape = draw.choice(SHAPES) if attacked["data"] else "mixed"
    values = draw_kinds(draw, draw.choice([1, 2]), family, key=False)
    left = with_values(draw, draw_table(draw, shape, kinds), values)
    names = plain_names(len(left.fields))
    if attacked["names"]:
        kind, names = draw_names(draw, len(left.fields))
        traits.add(("names", kind))
    # Spark's own cogroup takes null keys of the right for zeros (or stops at an assertion) where
    # those of the left cannot be null: there it is no reference.
    left, right = replace(left.named(names), nullable="other" in _parameters(way)), None
    if any(name in ("right", "other") for name in _parameters(way)):
        if draw.random() < 0.05:
            kinds = [PLAIN[0], *kinds[1:]]
        shape = draw.choice(SHAPES) if attacked["data"] else "mixed"
        right = with_values(draw, draw_table(draw, shape, kinds, like=left), values[:1])
        right = right.named(_right_names(draw, names, len(right.fields), left.keys, attacked))
    traits |= {("types", each.name) for each in [*kinds, *values] if each not in PLAIN}
    if shape != "mixed":
        traits.add(("data", shape))
    return left, right


_MANY_FORMS = {"named": 9, "merge": 6, "how": 7}
"""Parameters that take many different values: ways that have them are drawn more often."""


def _weight(way: Way) -> int:
    return max(_MANY_FORMS.get(name, 1) for name in _parameters(way))


def _parameters(way: Way) -> Iterator[str]:
    for call in range(len(way.calls)):
        yield from (parameter.name for parameter in way.parameters(call))


def _right_names(
    draw: random.Random, left: list[str], count: int, keys: int, attacked: dict[str, bool]
) -> list[str]:
    """The key is named as on the left; other columns sometimes are."""
    if draw.random() < 0.2:
        return left[:count]
    others = draw_names(draw, count)[1] if attacked["names"] else [f"r{n}" for n in range(count)]
    return [*left[:keys], *others[keys:]]


def _result_names(draw: random.Random, odd: bool) -> list[str]:
    names = draw_names(draw, 4)[1] if odd else ["r0", "r1", "r2", "r3"]
    return names if len({name.upper() for name in names}) == 4 else ["r0", "r1", "r2", "r3"]
