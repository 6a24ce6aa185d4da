"""One batch on one worker: rows meet the worker's state; out come rows, files and a report."""

from __future__ import annotations

import datetime
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from unskew._spark.frames.schemas import arrow_type, check_names
from unskew._spark.stateful.config import StateSchema
from unskew._spark.stateful.processor import Form, Processor, Result, State
from unskew._spark.stateful.state_tables import Entry, Keys
from unskew._spark.stateful.store import Store
from unskew._spark.stateful.worker_tables import KeyedRows, Outbox, in_time, unpacked
from unskew.errors import SchemaError

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


@dataclass(frozen=True, slots=True)
class WorkerStep:
    """The processor and everything that its calls in one batch depend on; sent to the workers."""

    processor: Processor
    schema: StateSchema
    form: Form
    batch: int
    now: int | None
    """The watermark or the batch's time in microseconds; None before there is a watermark."""
    timeout: int | None
    """In microseconds."""


@dataclass(slots=True)
class Touched:
    """The keys that were processed, in order, and their cost."""

    keys: list[Any] = field(default_factory=list)
    hashes: list[int] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    timers: int = 0
    late: int = 0
    newest: int | None = None
    """The latest event time, in microseconds."""


@dataclass(slots=True)
class WorkerRun:
    """The work of one worker in one batch."""

    step: WorkerStep
    store: Store
    held: dict[int, Keys] = field(default_factory=dict)
    """All keys of the hashes that were touched, with their new state."""
    touched: Touched = field(default_factory=Touched)

    def process(self, rows: pa.Table) -> pa.Array:
        """Process keys with rows first, then keys with only a timer; returns the output."""
        schema = self.step.schema
        outbox = Outbox(arrow_type(schema.output))
        rows, self.touched.late = in_time(rows, schema.event_time, self.step.now)
        groups = KeyedRows.of(
            unpacked(rows), schema.key, schema.event_time, rows["hash"].to_numpy()
        )
        hashes = groups.hashes.tolist()
        self.held = {number: {} for number in hashes}
        self.held |= self.store.get(list(self.held))
        for number, (name, key) in enumerate(zip(groups.names, groups.keys, strict=True)):
            latest = groups.latest[number]
            self._touch(hashes[number], name, key, groups.group(number), latest, outbox)
        self._fire(set(zip(hashes, groups.names, strict=True)), outbox)
        times = [each for each in groups.latest if each is not None]
        self.touched.newest = max(times, default=None)
        return outbox.array()

    def _fire(self, done: set[tuple[int, bytes]], outbox: Outbox) -> None:
        """Timers of keys that have no rows in this batch."""
        now = self.step.now
        if now is None or self.step.timeout is None:
            return
        for number, keys in self.store.due(now).items():
            mine = self.held.setdefault(number, keys)
            for name, (key, due, _) in list(mine.items()):
                if (number, name) not in done and self._is_due(due):
                    self._touch(number, name, key, None, None, outbox)

    def _is_due(self, due: int | None) -> bool:
        now = self.step.now
        if now is None or due is None or self.step.timeout is None:
            return False
        return due <= now

    def _touch(
        self, number: int, name: bytes, key: Any, rows: pa.Table | None, latest: int | None,
        outbox: Outbox,
    ) -> None:  # fmt: skip
        """Fire the timer first: it was due before these rows came."""
        processor, began = self.step.processor, time.perf_counter()
        known = self.held[number].pop(name, None)
        state, due = (known[2], known[1]) if known is not None else (None, None)
        if state is not None and self._is_due(due):
            self.touched.timers += 1
            assert self.step.now is not None
            out, state = _pair(processor.on_timer(key, state, _moment(self.step.now)))
            outbox.add(out)
            due = self._deadline(self.step.now)
        if rows is not None:
            if state is None:
                state, due = processor.init(key), None
            shown = rows if self.step.form == "arrow" else rows.to_pandas()
            out, state = _pair(processor.process(key, shown, state))
            outbox.add(out)
            due = self._renewed(due, latest)
        seconds = time.perf_counter() - began
        self._keep(number, name, key, due, state)
        self.touched.keys.append(key)
        self.touched.hashes.append(number)
        self.touched.rows.append(0 if rows is None else rows.num_rows)
        self.touched.seconds.append(seconds)

    def _keep(
        self, number: int, name: bytes, key: Any, due: int | None, state: State | None
    ) -> None:
        if state is None:
            return
        names = self.step.schema.state.names
        if not isinstance(state, Mapping):
            raise SchemaError(
                f"a processor returned its state as {type(state).__name__}; return a mapping of "
                f"{', '.join(names)}, or None to delete the state of the key"
            )
        if list(state) != names:  # Mostly they are, and in order: asked for every key.
            check_names(state, names, "the state")
        entry: Entry = (key, due, state)
        self.held[number][name] = entry

    def _deadline(self, since: int) -> int | None:
        return None if self.step.timeout is None else since + self.step.timeout

    def _renewed(self, due: int | None, latest: int | None) -> int | None:
        """The deadline after rows came, the last of them at `latest` in event time."""
        if self.step.timeout is None:
            return None
        if self.step.schema.event_time is None:
            return None if self.step.now is None else self._deadline(self.step.now)
        after = None if latest is None else self._deadline(latest)
        return max((each for each in (due, after) if each is not None), default=None)


def _pair(result: Any) -> Result:
    if not isinstance(result, tuple) or len(result) != 2:
        raise SchemaError(
            f"a processor returned {type(result).__name__}; return a tuple of two: output rows or "
            "None, and the state to keep or None"
        )
    return result


def _moment(micros: int) -> datetime.datetime:
    return _EPOCH + datetime.timedelta(microseconds=micros)
