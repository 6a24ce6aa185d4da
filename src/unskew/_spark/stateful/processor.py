"""The processor that a user writes: how rows of a key change its state and make output."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import Any, Literal

State = Mapping[str, Any]
"""One row of the state's schema."""

Result = tuple[Any, State | None]
"""Rows (an Arrow table, a pandas frame, a list of mappings, or None) and the state to keep."""

Form = Literal["arrow", "pandas"]
"""How a processor gets the rows of a key."""


class Processor:
    """Work on one key at a time. Override `process`; the other two methods have defaults.

    A key is a value, or a tuple where the key has several columns. All calls for a key in a batch
    happen on the worker that holds its state. They may be repeated after a failure, so a result
    may depend on nothing but the arguments.

    >>> class Counter(Processor):
    ...     def process(self, key, rows, state):
    ...         n = rows.num_rows + (state["n"] if state else 0)
    ...         return [{"key": key, "n": n}], {"n": n}
    """

    def init(self, key: Any) -> State | None:
        """The initial state of a key; with None (the default) `process` gets None."""
        return None

    def process(self, key: Any, rows: Any, state: State | None) -> Result:
        """Take the rows of a key in this batch; return output and the state to keep.

        State None deletes the state of the key. The rows come in the order of their event time if
        there is one, else in any order.
        """
        raise NotImplementedError

    def on_timer(self, key: Any, state: State, now: datetime.datetime) -> Result:
        """Called when the key's timeout has passed; by default its state is deleted.

        `now` is the watermark where the stream has an event time, else the time of the batch.
        State that is kept gets a new timeout, counted from `now`.
        """
        return None, None


class FunctionProcessor(Processor):
    """A plain function `process(key, rows, state)`."""

    def __init__(self, function: Callable[[Any, Any, State | None], Result]) -> None:
        self.function = function

    def process(self, key: Any, rows: Any, state: State | None) -> Result:
        """Call the function."""
        return self.function(key, rows, state)
