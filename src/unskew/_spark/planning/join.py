"""The plan of a join: how both sides go, why, and what was weighed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from unskew._spark.planning.key_names import KeyNames
from unskew._spark.planning.plan import WayForecast, key_lines, weighed_lines
from unskew._spark.routing.route import Route
from unskew.display import printable
from unskew.partitioners import KeyGrouping
from unskew.partitioners.static import SplitTable

COPY = "copy"
"""What `scheme=` says where all rows of one side go to every worker, and the other's to any."""

_NO_KEYS = SplitTable.empty()


@dataclass(frozen=True, slots=True)
class SideRoute:
    """How one side goes: most rows to one worker, the rows of some keys to several."""

    route: Route
    """Every key that is not copied."""
    copied: SplitTable = _NO_KEYS
    """Keys that the other side splits: their rows go to all of their workers."""
    to: Literal["one by key", "any", "all"] = "one by key"
    """The workers of a row: with "any" one that its key does not tell, with "all" every one."""

    @classmethod
    def copy(cls, workers: int, copied: bool) -> SideRoute:
        """The side that is copied to all workers, or the one whose rows are dealt to them."""
        return cls(Route.of(KeyGrouping(workers)), to="all" if copied else "any")


@dataclass(frozen=True, slots=True)
class JoinPlan:
    """How both sides of a join are routed, why, and what to expect."""

    key: tuple[str, ...]
    left: SideRoute
    right: SideRoute
    why: str
    plain: bool = False
    """Whether plain Spark is as good: the join is then left to it."""
    hashed: float | None = None
    """The expected max/mean if both sides went by the hash of the key; None if not measured."""
    max_over_mean: float | None = None
    """The expected max/mean of the work (rows read and pairs written); None if not measured."""
    ways: tuple[WayForecast, ...] = ()
    """What was weighed, the one that is taken first; empty if the user named a scheme."""
    statistics: str = "none"
    """What the forecasts are based on."""
    names: KeyNames | None = field(default=None, compare=False, repr=False)
    """Who knows the values of the keys; None if nobody is to be asked."""

    @property
    def workers(self) -> int:
        """How many workers both sides are spread over."""
        return self.left.route.workers

    @property
    def scheme(self) -> str:
        """How it runs, in a word or two."""
        if self.plain:
            return "plain Spark"
        for name, side in (("left", self.left), ("right", self.right)):
            if side.to == "all":
                return f"{COPY} {name}"
        return self.left.route.partitioner.scheme

    @property
    def forecast_seconds(self) -> float | None:
        """How long the join is expected to take in its way; None if no ways were weighed."""
        return self.ways[0].seconds if self.ways else None

    def explain(self) -> None:
        """Print the scheme, the reason, the ways that were weighed and the routing of hot keys.

        Looks up the values of the keys that are split, if the rows are quick to read.
        """
        print(self._text(self.names))

    def __str__(self) -> str:
        return self._text(None)

    def _text(self, names: KeyNames | None) -> str:
        by = ", ".join(map(printable, self.key)) or "a condition"
        lines = [f"scheme    {self.scheme} for a join by {by}", f"reason    {self.why}"]
        lines.extend(weighed_lines(self.ways))
        if self.max_over_mean is not None:
            lines.append(
                f"forecast  max/mean {self.max_over_mean:.3f} on {self.workers} workers "
                f"(hashing: {self.hashed:.3f})"
            )
        if self.statistics != "none":
            lines.append(f"measured  by {self.statistics}")
        return "\n".join([*lines, *([] if self.plain else self._routing(names))])

    def _routing(self, names: KeyNames | None) -> Iterator[str]:
        for name, side, other in (
            ("left", self.left, self.right),
            ("right", self.right, self.left),
        ):
            if side.to == "all":
                yield f"{name:<9} every row to all {self.workers} workers"
            elif side.to == "any":
                yield f"{name:<9} rows dealt to {self.workers} workers"
            else:
                yield (
                    f"{name:<9} {other.copied.keys.size} keys split over several workers, "
                    f"{side.copied.keys.size} copied to all parts of the other side"
                )
                yield from key_lines(other.copied, names)
