"""Functions of groups and of batches in every form that Spark takes, as text.

Each returns what does not depend on the order of rows: how many there are, how many values are
null, the names of the columns that it saw, the rows' numbers, and sometimes the last value of the
first row, whatever its type. `merged` turns the results of a group's parts into the group's.
"""

from __future__ import annotations

from dataclasses import dataclass

TYPES = ("bigint", "bigint", "string", "array<bigint>")

_BOTH = """
def fields_of(key):
    # Under names by position, the fields of a key made of columns are named otherwise.
    return list(key.values()) if SEEN and isinstance(key, dict) else key

"""

_ARROW = """
def result(rows, about):
    ids = sorted(n for table in rows for n in table.column(ID).to_pylist())
    nulls = sum(column.null_count for table in rows for column in table.columns)
    about += str(SEEN or [table.column_names for table in rows])
    return as_rows(len(ids), nulls, about, ids, kept_of(rows[0]))


def kept_of(table):
    ids, values = table.column(ID).to_pylist(), table.column(table.num_columns - 1)
    return in_utc(values.slice(ids.index(min(ids)), 1) if ids else pa.nulls(1, values.type))


def in_utc(values):
    instants = pa.types.is_timestamp(values.type) and values.type.tz
    return values.cast(pa.timestamp("us", "UTC")) if instants else values


def as_rows(count, nulls, about, ids, kept):
    longs = pa.int64()
    columns = [pa.array([count], longs), pa.array([nulls], longs), pa.array([about]),
               pa.array([ids], pa.list_(longs)), kept]
    return pa.table(columns[:len(RESULT)], names=RESULT)


def merged_rows(parts):
    count, nulls, about, ids = (parts.column(place).to_pylist() for place in range(4))
    if not count:
        return parts
    kept = in_utc(parts.column(parts.num_columns - 1).slice(ids.index(min(ids)), 1))
    return as_rows(sum(count), sum(nulls), min(about), sorted(sum(ids, [])), kept)


def whole(batches):
    return pa.Table.from_batches(list(batches))


def in_batches(table):
    yield from table.to_batches()


def shown(value):
    return fields_of(value.as_py())
"""

_PANDAS = """
def result(rows, about):
    ids = sorted(int(n) for frame in rows for n in frame.iloc[:, ID])
    nulls = sum(int(frame.isna().to_numpy().sum()) for frame in rows)
    about += str(SEEN or [list(frame.columns) for frame in rows])
    return as_rows(len(ids), nulls, about, ids, kept_of(rows[0]))


def kept_of(frame):
    ids, values = list(frame.iloc[:, ID]), frame.iloc[:, -1]
    return values.iloc[ids.index(min(ids))] if ids else None


def as_rows(count, nulls, about, ids, kept):
    return pd.DataFrame(dict(zip(RESULT, ([count], [nulls], [about], [ids], [kept]))))


def merged_rows(parts):
    count, nulls, about, ids = (list(parts.iloc[:, place]) for place in range(4))
    if not count:
        return parts
    lists = [list(part) for part in ids]
    kept = parts.iloc[lists.index(min(lists)), -1]
    return as_rows(sum(count), sum(nulls), min(about), sorted(sum(lists, [])), kept)


def whole(batches):
    return pd.concat(list(batches))


def in_batches(frame):
    yield frame


def shown(value):
    return fields_of(value)
"""


@dataclass(frozen=True)
class Form:
    """How a function of groups is called."""

    arrow: bool
    groups: int = 1
    iterator: bool = False
    with_key: bool = False
    shows_key: bool = False
    merge_iterator: bool = False

    @property
    def batches(self) -> str:
        kind = "pa.RecordBatch" if self.arrow else "pd.DataFrame"
        return f"Iterator[{kind}]"


def of_groups(form: Form, place: int, names: list[str]) -> str:
    """The text of `work` and `merged`."""
    rows = ", ".join(["left_rows", "right_rows"][: form.groups])
    key = "key: tuple[pa.Scalar, ...], " if form.arrow else "key: tuple[Any, ...], "
    seen = "str([shown(part) for part in key])" if form.shows_key else "str(len(key))"
    about = seen if form.with_key else "''"
    table = "pa.Table" if form.arrow else "pd.DataFrame"
    typed = ", ".join(f"{name}: {table}" for name in rows.split(", "))
    if form.iterator:
        typed = f"left_rows: {form.batches}"
    returned = form.batches if form.iterator else table
    body = f"result([{rows}], {about})"
    if form.iterator:
        body = f"in_batches(result([whole(left_rows)], {about}))"
    merge = f"def merged(parts: {table}) -> {table}:\n    return merged_rows(parts)\n"
    if form.merge_iterator:
        merge = (
            f"def merged(parts: {form.batches}) -> {form.batches}:\n"
            "    return in_batches(merged_rows(whole(parts)))\n"
        )
    return (
        f"ID, RESULT, SEEN = {place}, {names!r}, None\n"
        f"{_BOTH}{_ARROW if form.arrow else _PANDAS}\n\n"
        f"def work({key if form.with_key else ''}{typed}) -> {returned}:\n"
        f"    return {body}\n\n\n{merge}"
    )


def of_batches(form: Form, identity: bool, place: int, names: list[str]) -> str:
    """The text of `work`, a function from batches to batches."""
    if identity:
        return "def work(batches):\n    yield from batches\n"
    made = (
        "pa.record_batch([rows.column(ID)], names=RESULT)" if form.arrow
        else "pd.DataFrame({RESULT[0]: rows.iloc[:, ID]})"
    )  # fmt: skip
    return (
        f"ID, RESULT = {place}, {names[:1]!r}\n\n\n"
        f"def work(batches):\n    for rows in batches:\n        yield {made}\n"
    )


def schema_of(names: list[str], types: tuple[str, ...] = TYPES) -> str:
    """The schema of the result, as text of Python."""
    ticked = ("`" + name.replace("`", "``") + "`" for name in names)
    return repr(", ".join(f"{name} {kind}" for name, kind in zip(ticked, types, strict=False)))
