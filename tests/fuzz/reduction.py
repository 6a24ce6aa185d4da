"""Makes a failing case smaller as long as it fails in the same way."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.fuzz.cases import Case
from tests.fuzz.names import plain_names
from tests.fuzz.running import Outcome
from tests.fuzz.tables import Field, Table

Run = Callable[[Case], Outcome]


def reduced(case: Case, outcome: Outcome, run: Run, tries: int = 40) -> tuple[Case, Outcome]:
    """The smallest case that at most `tries` runs find, with its outcome."""
    progress = True
    while progress:
        progress = False
        for smaller in _smaller(case):
            if tries == 0:
                return case, outcome
            tries -= 1
            found = run(smaller)
            if (found.verdict, found.cause) == (outcome.verdict, outcome.cause):
                case, outcome, progress = smaller, found, True
                break
    return case, outcome


def _smaller(case: Case) -> Iterator[Case]:
    """Simpler cases, the boldest first."""
    if case.follow_up != "nothing":
        yield replace(case, follow_up="nothing")
    if (case.source, case.right_source) != ("literals", "literals"):
        yield replace(case, source="literals", right_source="literals")
    if case.settings:
        yield replace(case, settings=())
    for setting in case.settings if len(case.settings) > 1 else ():
        yield replace(case, settings=tuple(each for each in case.settings if each != setting))
    if case.keys != "{}":
        yield replace(case, keys="{}")
    yield from _plainly_named(case)
    # In turns, so that a large table on the right does not wait for all of the left.
    rights = _fewer_rows(case.right) if case.right is not None else iter(())
    for left, right in itertools.zip_longest(_fewer_rows(case.left), rights):
        if left is not None:
            yield replace(case, left=left)
        if right is not None:
            yield replace(case, right=right)
    yield from _fewer_arguments(case)
    yield from _simpler_types(case)


def _plainly_named(case: Case) -> Iterator[Case]:
    """All names plain, or all but one."""
    names = [field.name for field in case.left.fields]
    plain = plain_names(len(names))
    keys = case.left.keys
    choices = [plain] + [
        [
            old if place == kept else new
            for place, (old, new) in enumerate(zip(names, plain, strict=True))
        ]
        for kept in range(len(names))
    ]
    for choice in choices:
        right = case.right
        if right is not None:
            rest = [f"r{place}" for place in range(len(right.fields) - keys)]
            right = right.named([*choice[:keys], *rest])
        named = replace(case, left=case.left.named(choice), right=right)
        if sum(map(_odd, _names(named))) < sum(map(_odd, _names(case))):
            yield named


def _names(case: Case) -> list[str]:
    tables = [case.left, *([case.right] if case.right else [])]
    return [field.name for table in tables for field in table.fields]


def _odd(name: str) -> bool:
    return not (name[:1] in "cr" and name[1:].isdigit())


def _fewer_rows(table: Table) -> Iterator[Table]:
    if table.rows:
        yield table.only([])
    size = table.rows // 2
    while size >= 1:
        for start in range(0, table.rows, size):
            gone = range(start, min(start + size, table.rows))
            yield table.only([row for row in range(table.rows) if row not in gone])
        if table.rows > 8 and size <= table.rows // 8:
            return
        size //= 2


def _fewer_arguments(case: Case) -> Iterator[Case]:
    for place, call in enumerate(case.calls):
        named = sum(each.droppable and each.plain is not None for each in call.arguments)
        for argument in call.arguments:
            if argument.droppable and (argument.plain is None or named > 1):
                rest = tuple(each for each in call.arguments if each is not argument)
                calls = list(case.calls)
                calls[place] = replace(call, arguments=rest)
                yield replace(case, calls=tuple(calls))


def _simpler_types(case: Case) -> Iterator[Case]:
    keys = case.left.keys
    for place, field in enumerate(case.left.fields):
        if field.sql == "bigint":
            continue
        left, right = list(case.left.fields), case.right
        left[place] = _numbered(field)
        if right is not None and place < keys:
            fields = list(right.fields)
            fields[place] = _numbered(fields[place])
            right = replace(right, fields=tuple(fields))
        yield replace(case, left=replace(case.left, fields=tuple(left)), right=right)


def _numbered(field: Field) -> Field:
    """Whole numbers, equal where the values are equal."""
    known = sorted(set(field.values))
    values = (
        "CAST(NULL AS bigint)"
        if value.startswith("CAST(NULL")
        else f"CAST({known.index(value)} AS bigint)"
        for value in field.values
    )
    return replace(field, kind="bigint", sql="bigint", values=tuple(values))
