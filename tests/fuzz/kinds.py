"""Column types with the SQL literals of awkward values."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """A Spark type and values of it, as SQL."""

    name: str
    """What the report calls it."""
    sql: str
    wild: tuple[str, ...]
    """Values for keys: everything that is awkward."""
    calm: tuple[tuple[str, ...], ...] = ()
    """Pools of values to aggregate; within one of them no order of rows changes a result.

    Spark's own sums of doubles and its overflows depend on the order, and so does which of two
    equal zeros is the smallest. Of wide decimals few are large: one part of a key's sum overflows,
    and another one does not.
    """
    numbered: str = ""
    """The value number `{}`, where there are many."""
    groups: bool = True
    """Whether it may be a key."""

    @property
    def null(self) -> str:
        return f"CAST(NULL AS {self.sql})"

    @property
    def pools(self) -> tuple[tuple[str, ...], ...]:
        return self.calm or (self.wild,)


def _kind(name: str, sql: str, wild: str, *calm: str, **more: str) -> Kind:
    """A type whose values are words that Spark casts to it."""

    def cast(words: str) -> tuple[str, ...]:
        return tuple(f"CAST('{word}' AS {sql})" for word in words.split("|"))

    numbered = f"CAST('{more['numbered']}' AS {sql})" if more else ""
    return Kind(name, sql, cast(wild), tuple(map(cast, calm)), numbered)


def quoted(text: str) -> str:
    """A string as a literal of SQL, without characters that a script could not show."""
    shown = text.replace("\\", "\\\\").replace("'", "\\'")
    return (
        "'"
        + "".join(c if c.isascii() and c.isprintable() else f"\\U{ord(c):08x}" for c in shown)
        + "'"
    )


_PLAIN_WORDS = ["", "a", "A", "hot", "HOT", "hot ", " hot", "a.b", "it's", "a\\b", "null", "\x00"]
# Letters that lower() and collations treat differently: sharp s, dotless i, final sigma.
_LETTERS = [
    *("ß", "ẞ", "ss", "SS", "i", "I", "ı", "İ", "i̇", "σ", "ς", "Σ", "K", "K", "ſ", "é", "é", "😀"),
]


def _words(name: str, sql: str, words: list[str]) -> Kind:
    cast = tuple(f"CAST({quoted(word)} AS {sql})" for word in words)
    return Kind(name, sql, cast, (), f"CAST('word {{}}' AS {sql})")


def _instants(name: str, *pools: str) -> Kind:
    made = tuple(tuple(f"timestamp_micros({n})" for n in pool.split("|")) for pool in pools)
    return Kind(name, "timestamp", made[0], made, "timestamp_micros({}000000)")


REPEATED = {
    "America/New_York": ("1730611800000000", "1730615400000000"),
    "Europe/Berlin": ("1729989000000000", "1729992600000000"),
}
"""The hour that autumn repeats in a time zone, half past each time, in microseconds."""
_NEW_YORK, _BERLIN = map("|".join, REPEATED.values())
_ODD = "NaN|Infinity|-Infinity|0.0|-0.0|0.1|1.5|-1.5"
_DYADIC = ("0.0|0.5|-1.5|3.25|1048576", "-0.0|0.5|-1.5", "NaN|Infinity|0.5|-0.0")

PLAIN = [
    _kind(
        "int", "int", "0|1|2|-1|7|2147483647|-2147483648", "0|1|2|-7", "2147483647|5", numbered="{}"
    ),
    _kind(
        "bigint",
        "bigint",
        "0|1|2|9223372036854775807|-9223372036854775808",
        "0|1|2|-7",
        "4611686018427387904|0",
        numbered="{}",
    ),
    _words("string", "string", _PLAIN_WORDS + _LETTERS),
]
"""What most tables of most people are made of."""

ATOMS = [
    *PLAIN,
    _kind("boolean", "boolean", "true|false"),
    _kind("tinyint", "tinyint", "0|1|127|-128"),
    _kind("smallint", "smallint", "0|1|32767|-32768", numbered="{}"),
    _kind("float", "float", _ODD + "|3.4028235E38|1.4E-45", *_DYADIC),
    _kind("double", "double", _ODD + "|1.7976931348623157E308|4.9E-324", *_DYADIC, numbered="{}.5"),
    _kind("decimal(5,2)", "decimal(5,2)", "0|0.01|-999.99|999.99|1.5", numbered="0.{}"),
    _kind("decimal(12,3)", "decimal(12,3)", "0|0.001|-1.5|999999999.999"),
    _kind(
        "decimal(38,0)",
        "decimal(38,0)",
        "0|1|-1|" + "9" * 38 + "|-" + "9" * 38,
        "9" * 38 + "|1" * 5 + "|5" + "0" * 37,
        "55555555055555555505555555555000|" + "1234567890" * 3 + "12|7",
    ),
    _kind(
        "decimal(38,18)",
        "decimal(38,18)",
        "0|1.5|" + "9" * 20 + "." + "9" * 18,
        "9" * 20 + "." + "9" * 18 + "|0.000000000000000001" * 5,
        "1234567890123456789.123456789012345678|0.000000000000000001|7.5",
    ),
    _kind("decimal(38,38)", "decimal(38,38)", "0|0." + "9" * 38 + "|0." + "0" * 37 + "1"),
    _kind("date", "date", "1970-01-01|0001-01-01|9999-12-31|1582-10-04|1582-10-15|2024-02-29"),
    _kind("far date", "date", "-0044-03-15|+10000-01-01|5881580-07-11|1970-01-01"),
    _instants("timestamp", f"0|-1|{_NEW_YORK}|{_BERLIN}|1710054000000000|253402214400000000"),
    _instants("autumn", _NEW_YORK, _BERLIN),
    _instants("far timestamp", "9223372036854775807|-9223372036854775808|-62135596800000001|0"),
    _kind(
        "timestamp_ntz",
        "timestamp_ntz",
        "1970-01-01 00:00:00|2024-11-03 01:30:00|2024-03-10 02:30:00|0001-01-01 00:00:00.000001",
    ),
    _kind("day interval", "interval day to second", "0 0:0:0|1 2:3:4.000005|-1 0:0:0"),
    _kind("year interval", "interval year to month", "0-0|1-2|-1-0"),
    _kind("time", "time(6)", "00:00:00|23:59:59.999999|12:30:00"),
    Kind("binary", "binary", ("X''", "X'00'", "X'FF00'", "X'61'")),
    _words("UTF8_LCASE", "string collate UTF8_LCASE", [*_LETTERS, "hot", "HOT"]),
    _words("UNICODE_CI", "string collate UNICODE_CI", _LETTERS),
    _words("UTF8_BINARY_RTRIM", "string collate UTF8_BINARY_RTRIM", _PLAIN_WORDS),
]
"""Every type that holds no other."""

_NAMED = {each.name: each for each in ATOMS}
_COLLATED = ("UTF8_LCASE", "UNICODE_CI", "UTF8_BINARY_RTRIM")


_FAMILIES = (
    ("decimal(5,2)", "decimal(12,3)", *("decimal(38,0)", "decimal(38,18)") * 2, "decimal(38,38)"),
    ("timestamp", "autumn", "autumn", "autumn", "timestamp_ntz", "date"),
    ("string", "UTF8_LCASE", "UTF8_LCASE", "UTF8_LCASE", "UNICODE_CI", "UTF8_BINARY_RTRIM"),
    ("float", "double", "tinyint", "smallint", "boolean"),
    ("far date", "far timestamp", "day interval", "year interval", "time", "binary"),
)
"""Types that fail together: a table is made of one family, or of anything."""


def draw_family(draw: random.Random, aggregated: bool) -> tuple[Kind, ...]:
    """The types that the columns of a case are drawn from; `aggregated`: most fail as values."""
    if draw.random() < 0.2:
        return tuple(ATOMS)
    # The first three are those that have failed: decimals as values, strings as keys.
    names = draw.choices(_FAMILIES, [8, 4, 1, 1, 1] if aggregated else [2, 3, 4, 1, 1])[0]
    return tuple(_NAMED[name] for name in names)


def draw_kind(draw: random.Random, family: tuple[Kind, ...], key: bool) -> Kind:
    """A type of a family, or one that holds some; those that Spark cannot group by for no key."""
    if draw.random() < 0.8:
        return draw.choice(family)
    # Which of two equal strings of a collation a group shows is Spark's to choose.
    inner = [each for each in family if each.name not in _COLLATED or (key and draw.random() < 0.1)]
    return _composite(draw, [draw.choice(inner or PLAIN) for _ in range(2)], key)


def _composite(draw: random.Random, inner: list[Kind], key: bool) -> Kind:
    one, two = inner
    first, second = ([*draw.choice(each.pools), each.null] for each in inner)
    if key:
        first, second = [*one.wild, one.null], [*two.wild, two.null]
    pairs = [(draw.choice(first), draw.choice(second)) for _ in range(6)]
    shapes = {
        "struct": (f"struct<a: {one.sql}, b: {two.sql}>", "named_struct('a', {0}, 'b', {1})"),
        "array": (f"array<{one.sql}>", "array({0}, {0})"),
        "struct of array": (f"struct<a: array<{one.sql}>>", "named_struct('a', array({0}))"),
        "array of struct": (f"array<struct<a: {one.sql}>>", "array(named_struct('a', {0}))"),
        "map": (f"map<string, {one.sql}>", "map('m', {0})"),
    }
    name = draw.choice(list(shapes))
    sql, text = shapes[name]
    values = tuple(f"CAST({text.format(*pair)} AS {sql})" for pair in pairs)
    return Kind(name, sql, (*values, f"CAST(NULL AS {sql})"), groups=name != "map")


def zones_of(values: tuple[str, ...]) -> list[str]:
    """The time zones in which some of the instants look alike."""
    return [
        zone
        for zone, hours in REPEATED.items()
        if all(f"timestamp_micros({hour})" in values for hour in hours)
    ]


def shows_any_equal(sql: str) -> bool:
    """Whether equal values of a type can look different: signed zeros, collated strings."""
    return any(word in sql for word in ("float", "double", "collate"))
