"""The kinds of joins: which rows are in the result without a partner, and what that forbids."""

from __future__ import annotations

from enum import Enum
from typing import Literal

from unskew.errors import UnknownNameError

SideName = Literal["left", "right"]


class JoinKind(Enum):
    """A kind of join, by Spark's shortest name for it."""

    INNER = "inner"
    LEFT = "left"
    RIGHT = "right"
    FULL = "full"
    SEMI = "semi"
    ANTI = "anti"

    @classmethod
    def named(cls, how: str) -> JoinKind:
        """The kind by any of Spark's names, in any case and with underscores anywhere."""
        kind = KINDS.get(str(how).lower().replace("_", ""))
        if kind is None:
            raise UnknownNameError("join", how, {each.value for each in cls})
        return kind

    @property
    def preserved(self) -> tuple[SideName, ...]:
        """The sides of which rows without a partner are in the result."""
        return _PRESERVED[self]

    @property
    def only_filters(self) -> bool:
        """Whether the right side only tells which rows of the left are in the result."""
        return self in (JoinKind.SEMI, JoinKind.ANTI)

    @property
    def may_be_copied(self) -> tuple[SideName, ...]:
        """The sides that may be on every worker: a row is in the result only with its partners."""
        return _COPIED[self]

    @property
    def spark_splits(self) -> tuple[SideName, ...]:
        """The sides whose large partitions Spark may split; it copies those of the other."""
        return tuple(_OTHER[side] for side in _COPIED[self])


KINDS: dict[str, JoinKind] = {
    **{kind.value: kind for kind in JoinKind},
    "leftouter": JoinKind.LEFT,
    "rightouter": JoinKind.RIGHT,
    "outer": JoinKind.FULL,
    "fullouter": JoinKind.FULL,
    "leftsemi": JoinKind.SEMI,
    "leftanti": JoinKind.ANTI,
}
"""By Spark's names, without underscores."""
_OTHER: dict[SideName, SideName] = {"left": "right", "right": "left"}
_PRESERVED: dict[JoinKind, tuple[SideName, ...]] = {
    JoinKind.INNER: (),
    JoinKind.LEFT: ("left",),
    JoinKind.RIGHT: ("right",),
    JoinKind.FULL: ("left", "right"),
    JoinKind.SEMI: (),
    JoinKind.ANTI: ("left",),
}
_COPIED: dict[JoinKind, tuple[SideName, ...]] = {
    JoinKind.INNER: ("right", "left"),
    JoinKind.LEFT: ("right",),
    JoinKind.RIGHT: ("left",),
    JoinKind.FULL: (),
    JoinKind.SEMI: ("right",),
    JoinKind.ANTI: ("right",),
}
