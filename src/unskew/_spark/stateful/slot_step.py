"""One batch on one slot: rows and state in; new state, output and a report out."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from unskew._spark.frames.arrow_keys import whole
from unskew._spark.frames.schemas import arrow_type, check_names
from unskew._spark.stateful.config import OUTPUT, REPORT, STATE, StateSchema
from unskew._spark.stateful.processor import Form, Processor, State
from unskew._spark.stateful.reports import SlotReport
from unskew._spark.stateful.slot_tables import (
    KeyedRows,
    Known,
    Outbox,
    in_time,
    newest,
    row_bytes,
    unpacked,
)
from unskew.errors import SchemaError

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True, slots=True)
class SlotStep:
    """The processor and everything that its calls in one batch depend on; sent to the workers."""

    processor: Processor
    schema: StateSchema
    form: Form
    batch: int
    now: int | None
    """The watermark or the batch's time in microseconds; None before there is a watermark."""
    timeout: int | None
    """In microseconds."""

    def function(self) -> Callable[[Any, pa.Table, pa.Table], pa.Table]:
        """The function for `cogroup().applyInArrow`."""

        def call(slot: Any, states: pa.Table, rows: pa.Table) -> pa.Table:
            return SlotRun(self, slot[0].as_py()).results(rows, states)

        return call


class Kept(NamedTuple):
    """The new version of a key's state, and its cost."""

    state: State | None
    due: int | None
    rows: int
    seconds: float


@dataclass(slots=True)
class SlotRun:
    """The work of one slot in one batch."""

    step: SlotStep
    slot: int
    kept: list[Kept] = field(default_factory=list)
    timers: int = 0

    def results(self, rows: pa.Table, states: pa.Table) -> pa.Table:
        """Process keys with rows first, then keys with only a timer."""
        schema = self.step.schema
        outbox = Outbox(arrow_type(schema.output))
        rows, late = in_time(rows, schema.event_time, self.step.now)
        groups = KeyedRows.of(
            unpacked(rows), schema.key, schema.event_time, rows["hash"].to_numpy()
        )
        known = newest(states)
        for number, (name, key) in enumerate(zip(groups.names, groups.keys, strict=True)):
            group, latest = groups.group(number), groups.latest[number]
            self._touch(key, group, latest, known.pop(name, None), outbox)
        due = [each for each in known.values() if self._is_due(each)]
        for each in due:
            self._touch(each.key, None, None, each, outbox)
        timed = np.array([each.row for each in due], dtype=np.int64)
        hashes = np.concatenate([groups.hashes, states["hash"].to_numpy()[timed]])
        latest = max((time for time in groups.latest if time is not None), default=None)
        key = _keys(groups, states, timed, schema)
        return self._assembled(key, hashes, outbox.array(), latest, late)

    def _is_due(self, known: Known) -> bool:
        now, due = self.step.now, known.due
        return known.state is not None and now is not None and due is not None and due <= now

    def _touch(
        self,
        key: Any,
        rows: pa.Table | None,
        latest: int | None,
        known: Known | None,
        outbox: Outbox,
    ) -> None:
        """Fire the timer first: it was due before these rows came."""
        processor, began = self.step.processor, time.perf_counter()
        state, due = (known.state, known.due) if known is not None else (None, None)
        if known is not None and self._is_due(known):
            self.timers += 1
            assert state is not None
            assert self.step.now is not None
            out, state = processor.on_timer(key, state, _moment(self.step.now))
            outbox.add(out)
            due = self._deadline(self.step.now)
        if rows is not None:
            if state is None:
                state, due = processor.init(key), None
            shown = rows if self.step.form == "arrow" else rows.to_pandas()
            out, state = processor.process(key, shown, state)
            outbox.add(out)
            due = self._renewed(due, latest)
        self._check(state)
        count = 0 if rows is None else rows.num_rows
        seconds = time.perf_counter() - began
        self.kept.append(Kept(state, None if state is None else due, count, seconds))

    def _check(self, state: State | None) -> None:
        if state is None:
            return
        names = self.step.schema.state.names
        if not isinstance(state, Mapping):
            raise SchemaError(
                f"a processor returned its state as {type(state).__name__}; return a mapping of "
                f"{', '.join(names)}, or None to delete the state of the key"
            )
        check_names(state, names, "the state")

    def _deadline(self, since: int) -> int | None:
        return None if self.step.timeout is None else since + self.step.timeout

    def _renewed(self, due: int | None, latest: int | None) -> int | None:
        """The deadline after rows came, the last of them at `latest` in event time."""
        if self.step.schema.event_time is None:
            return None if self.step.now is None else self._deadline(self.step.now)
        after = None if latest is None else self._deadline(latest)
        return max((each for each in (due, after) if each is not None), default=None)

    def _assembled(
        self,
        key: pa.Array,
        hashes: NDArray[np.int64],
        output: pa.Array,
        latest: int | None,
        late: int,
    ) -> pa.Table:
        """State, output and report rows below each other, with nulls where a kind has nothing."""
        kept = self.kept
        state = pa.array([each.state for each in kept], arrow_type(self.step.schema.state))
        memory = row_bytes(state)
        rows = np.array([each.rows for each in kept], dtype=np.int64)
        seconds = np.array([each.seconds for each in kept], dtype=np.float64)
        report = SlotReport.of(
            self.slot, hashes, rows, seconds, memory,
            newest=latest, timers=self.timers, late=late, keys=key.flatten(),
        )  # fmt: skip
        due = pa.array([each.due for each in kept], pa.int64())
        version = pa.array(np.full(len(kept), self.step.batch, dtype=np.int64))
        columns = [pa.array(hashes), key, version, due, pa.array(memory), state]
        n, m = len(kept), len(output)
        kinds = np.repeat(np.array([STATE, OUTPUT, REPORT], dtype=np.int8), [n, m, 1])
        arrays = [
            pa.array(np.full(n + m + 1, self.slot, dtype=np.int32)),
            pa.array(kinds),
            *(pa.concat_arrays([each, pa.nulls(m + 1, each.type)]) for each in columns),
            pa.concat_arrays([pa.nulls(n, output.type), output, pa.nulls(1, output.type)]),
            pa.array([None] * (n + m) + [report.to_bytes()], pa.binary()),
        ]
        return pa.Table.from_arrays(arrays, names=self.step.schema.results.names)


def _keys(
    groups: KeyedRows, states: pa.Table, timed: NDArray[np.int64], schema: StateSchema
) -> pa.Array:
    kind = arrow_type(schema.key_type)
    old = whole(states["key"]).take(pa.array(timed)).flatten()
    columns = [
        pa.concat_arrays([new.cast(field.type), before.cast(field.type)])
        for field, new, before in zip(kind, groups.key_columns(schema.key), old, strict=True)
    ]
    return pa.StructArray.from_arrays(columns, fields=list(kind))


def _moment(micros: int) -> datetime.datetime:
    return _EPOCH + datetime.timedelta(microseconds=micros)
