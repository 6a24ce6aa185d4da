"""Column names that have broken something, here or elsewhere."""

from __future__ import annotations

import functools
import random
import re
from pathlib import Path

import unskew

_FIXED = {
    "keyword": ["select", "from", "group", "null", "interval", "current_date", "*", "true"],
    "inner": ["worker", "slot", "key", "value", "sum", "count", "item", "part", "state", "result",
              "hash", "_1", "0", "c0", "t", "left", "right", "whole", "name"],
    "dots": ["a.b", ".", "k.a", "a.b.c", "t.k"],
    "ticks": ["a`b", "`", "``", "`k`", "a`.`b"],
    "unicode": ["ключ", "İ", "ı", "ſ", "ß", "😀", "é", "é", "\u200b"],
    "marks": [" ", "a b", "'", '"', "%s", "{0}", "\\", "a,b", "(a)", "a\tb", "$", "k "],
    "long": ["x" * 300],
}  # fmt: skip


@functools.cache
def helper_names() -> list[str]:
    """The names of all helper columns, read from the sources: those added later are found too."""
    folder = Path(unskew.__file__).parent
    found: set[str] = set()
    for file in folder.rglob("*.py"):
        text = file.read_text()
        found |= set(re.findall(r"helper_name\(\s*f?\"(\w[^\"]*)\"", text))
    stems = {re.sub(r"\{.*?\}", "0", stem) for stem in found}
    return sorted(f"__unskew_{stem}" for stem in stems)


def classes() -> dict[str, list[str]]:
    """Every class of names."""
    helpers = helper_names()
    variants = [name.upper() for name in helpers] + [f"{name}_" for name in helpers]
    return {"helper": helpers, "like a helper": variants, **_FIXED}


def plain_names(count: int) -> list[str]:
    """Names that nobody minds."""
    return [f"c{place}" for place in range(count)]


def draw_names(draw: random.Random, count: int) -> tuple[str, list[str]]:
    """A class and as many names; some of them twice, or twice but for case."""
    pools = classes()
    kind = draw.choice([*pools, *["helper"] * 5, "case", "twice"])
    if kind in pools:
        pool = draw.sample(pools[kind], min(count, len(pools[kind])))
        names = [*pool, *plain_names(count)][:count]
        draw.shuffle(names)
        return kind, names
    names = plain_names(count)
    one, two = draw.sample(range(count), 2) if count > 1 else (0, 0)
    names[two] = names[one].upper() if kind == "case" else names[one]
    return kind, names
