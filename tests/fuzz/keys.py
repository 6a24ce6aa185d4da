"""The key of a grouping in every form that Spark takes, as text."""

from __future__ import annotations

import random
from dataclasses import dataclass

KEY_HELPERS = """
def position(rows, name):
    return 1 + rows.columns.index(name)

def nested(rows, name):
    kind = rows.select(col(name)).schema[0].dataType
    ticked = "`" + name.replace("`", "``") + "`"
    return f"{ticked}.a" if kind.simpleString().startswith("struct<a:") else ticked
"""
COMPUTED = (
    "F.coalesce(col(key), col(key))",
    "F.struct(col(key))",
    "(F.xxhash64(col(key)) % 3).alias('key of ' + key)",
    "col(key).isNull()",
    "position({rows}, key)",
    "nested({rows}, key)",
    "nested({rows}, key)",
    "{rows}[position({rows}, key) - 1]",
)


@dataclass(frozen=True)
class KeyForm:
    """How a key is given."""

    computed: str = ""
    """The expression of each `key`; "" gives the names."""
    first_only: bool = False
    """Whether the first is computed and the others are given by name."""
    listed: bool = False
    """Whether they are one argument, a list."""
    none: bool = False

    def text(self, rows: str, keys: str, plain: bool) -> str | None:
        """The key of `rows` as arguments; `keys` are the names of its columns."""
        if self.none:
            return None
        # As text, Spark would read dots and backticks in a name.
        named = "*map(col, {})" if plain else "*{}"
        parts = [named.format(keys)]
        if self.computed:
            some = f"{keys}[:1]" if self.first_only else keys
            parts = [f"*[{self.computed.format(rows=rows)} for key in {some}]"]
            if self.first_only:
                parts.append(named.format(f"{keys}[1:]"))
        return f"[{', '.join(parts)}]" if self.listed else ", ".join(parts)


def draw_key_form(draw: random.Random) -> KeyForm:
    """By name in half of the cases, and rarely none at all."""
    if draw.random() < 0.05:
        return KeyForm(none=True)
    computed = draw.choice(COMPUTED) if draw.random() < 0.5 else ""
    return KeyForm(computed, draw.random() < 0.3, draw.random() < 0.2)
