"""A join in the memory: which counts of an earlier run may still be true.

Nothing that a join does tells what its keys are, and no look at the rows is free. So for a few runs
counts are taken on trust, as long as both sides stay about as large; then keys are counted anew.
"""

from __future__ import annotations

from typing import NamedTuple

from unskew._spark.planning.decision import DRIFTED
from unskew._spark.planning.job_names import fingerprint, job_name
from unskew._spark.planning.join_kinds import JoinKind
from unskew._spark.planning.join_record import JoinRecord, Sizes
from unskew._spark.planning.memory import Memory
from unskew._spark.planning.request import RoutingRequest
from unskew._spark.planning.statistics import FEW

MOST_RUNS = 6
"""So many runs in a row take the same counts."""
_GROWTH = 0.25  # So much more or less of a side, and its keys will be others.
_TIMES = 16  # Sizes are guesses, but no side has so many times the rows.


class JoinMemory(NamedTuple):
    """A join in the session's memory."""

    memory: Memory
    job: str
    fingerprint: str

    @classmethod
    def of(
        cls, left: RoutingRequest, right: RoutingRequest, kind: JoinKind, name: str | None
    ) -> JoinMemory | None:
        """Known by its name, or by the place of the call and the columns of both sides."""
        memory = Memory.of(left.rows.sparkSession)
        if memory is None:
            return None
        keys = [*left.key.names, *right.key.names]
        types = [field.dataType.json() for side in (left, right) for field in side.key.fields]
        # Of several joins by one key in a function, sides mostly differ in their columns.
        columns = fingerprint([list(left.columns), list(right.columns)])
        job = job_name(name, f"{kind.value} join", [*keys, columns[:8]], None)
        return cls(memory, job, fingerprint(["join", kind.value, keys, types]))

    def recall(self) -> JoinRecord | None:
        """What was counted last, whether it is still true or not."""
        return self.memory.recall_join(self.job, self.fingerprint)

    def keep(self, record: JoinRecord, before: JoinRecord | None = None) -> None:
        """Keep a record; `before` tells how far keys that were counted anew have drifted."""
        self.memory.keep_join(self.job, record, before)


def doubt(record: JoinRecord, sizes: Sizes) -> str | None:
    """Why a record may no longer be true of sides of these sizes; None if nothing speaks for it."""
    sides = zip(("left", "right"), (record.left, record.right), record.sizes, sizes, strict=True)
    for name, side, then, now in sides:
        if now is None or then is None:
            if now is not then:
                return f"the size of the {name} side was not known both times"
        elif abs(now - then) > _GROWTH * then:
            return f"the {name} side has about {now:,.0f} rows, and had {then:,.0f}"
        elif side.rows > _TIMES * max(now, FEW):
            return f"the {name} side is too small for the {side.rows:,} rows that are noted"
    if record.drift > DRIFTED:
        return "its keys had changed when they were counted last"
    if record.runs >= MOST_RUNS:
        return f"{MOST_RUNS} runs have taken the same counts"
    return None
