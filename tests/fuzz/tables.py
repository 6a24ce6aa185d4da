"""Small tables as SQL: key columns first, then a number for each row, then other columns."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace

from tests.fuzz.kinds import PLAIN, Kind, draw_kind

SHAPES = (
    *("mixed", "all distinct", "empty", "one row", "all null"),
    *("hot key", "one key") * 2,  # Keys that are split.
)


@dataclass(frozen=True)
class Field:
    """A column: its name, its type and its values as SQL."""

    name: str
    kind: str
    sql: str
    values: tuple[str, ...]

    @property
    def null(self) -> str:
        return f"CAST(NULL AS {self.sql})"


@dataclass(frozen=True)
class Table:
    """The columns of a table; the first `keys` are the key."""

    fields: tuple[Field, ...]
    keys: int
    nullable: bool = False
    """Whether Spark takes all columns for nullable, with and without nulls in them."""

    @property
    def rows(self) -> int:
        return len(self.fields[0].values)

    def named(self, names: list[str]) -> Table:
        """The same table with other names."""
        pairs = zip(self.fields, names, strict=True)
        return replace(self, fields=tuple(replace(field, name=name) for field, name in pairs))

    def only(self, rows: list[int]) -> Table:
        """Some of the rows."""
        cut = (
            replace(field, values=tuple(field.values[row] for row in rows)) for field in self.fields
        )
        return replace(self, fields=tuple(cut))

    def text(self) -> str:
        """The expression of Python that makes it."""
        places = ", ".join(f"c{place}" for place in range(len(self.fields)))
        rows = list(zip(*(field.values for field in self.fields), strict=True))
        end = ""
        if self.nullable or not rows:
            # A row that is filtered out.
            rows.append(tuple(field.null for field in self.fields))
            end = f" WHERE c{self.keys} IS NOT NULL"
        values = ",\n  ".join(f"({', '.join(row)})" for row in rows)
        sql = f"SELECT * FROM VALUES\n  {values}\nAS t({places}){end}"
        names = ", ".join(repr(field.name) for field in self.fields)
        return f"spark.sql({_literal(sql)}).toDF({names})"

    def range_text(self) -> str:
        """The same rows, made from a range of numbers."""
        columns = [
            f"element_at(array({', '.join(field.values + more)}), CAST(id + 1 AS INT)) AS c{place}"
            for place, field in enumerate(self.fields)
            for more in [(field.null,) if self.nullable else ()]
        ]
        names = ", ".join(repr(field.name) for field in self.fields)
        listed = ",\n  ".join(_literal(column) for column in columns)
        return f"spark.range({self.rows}).selectExpr(\n  {listed}).toDF({names})"


def _literal(sql: str) -> str:
    return f'r"""{sql}"""'


def draw_table(
    draw: random.Random, shape: str, kinds: list[Kind], like: Table | None = None
) -> Table:
    """Rows of a shape; `kinds` are those of the keys."""
    rows = {"empty": 0, "one row": 1}.get(shape, draw.choice([3, 8, 20, 40]))
    fields = []
    for place, kind in enumerate(kinds):
        fields.append(Field(f"c{place}", kind.name, kind.sql, _keys(draw, shape, kind, rows)))
    start = 1000 if like else 0
    numbers = tuple(f"CAST({start + row} AS BIGINT)" for row in range(rows))
    fields.append(Field("c", "bigint", "bigint", numbers))
    return Table(tuple(fields), len(kinds))


def with_values(draw: random.Random, table: Table, kinds: list[Kind]) -> Table:
    """Beside the key and the number, columns to aggregate."""
    fields = list(table.fields)
    for kind in kinds:
        pool = draw.choice(kind.pools)
        # Nothing but nulls in one column of twenty: beside them no value is tried.
        nulls = draw.choices([0, 0.1, 0.2, 1], [5, 10, 4, 1])[0]
        values = tuple(
            kind.null if draw.random() < nulls else draw.choice(pool) for _ in range(table.rows)
        )
        fields.append(Field("v", kind.name, kind.sql, values))
    return replace(table, fields=tuple(fields))


def draw_kinds(draw: random.Random, count: int, family: tuple[Kind, ...], key: bool) -> list[Kind]:
    """Types of columns, of a family; plain ones if there is none."""
    kinds = [draw_kind(draw, family, key) if family else draw.choice(PLAIN) for _ in range(count)]
    return [each if each.groups or not key or draw.random() < 0.2 else PLAIN[0] for each in kinds]


def _keys(draw: random.Random, shape: str, kind: Kind, rows: int) -> tuple[str, ...]:
    if shape == "all null":
        return (kind.null,) * rows
    if shape == "one key":
        return (draw.choice(kind.wild),) * rows
    if shape == "all distinct" and kind.numbered:
        return tuple(kind.numbered.format(row) for row in range(rows))
    pool = draw.sample(kind.wild, min(len(kind.wild), draw.choice([2, 5, 12])))
    hot = 0.8 if shape == "hot key" else 0
    return tuple(
        pool[0] if draw.random() < hot
        else kind.null if draw.random() < 0.1 else draw.choice(pool)
        for _ in range(rows)
    )  # fmt: skip
