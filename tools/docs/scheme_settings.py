"""The table of settings: every scheme, every setting, and where it can be given.

Each cell is found out by giving the setting another value than its default at the door of a verb.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal, get_args, get_origin

import numpy as np

from unskew._spark.planning.scheme import check_need_of, check_reports, with_settings
from unskew._spark.planning.settings import PlanSettings
from unskew.checking import alternatives
from unskew.errors import UnskewError
from unskew.partitioners import (
    ALL,
    PLANNED,
    ConsistentGrouping,
    ConsistentRing,
    Need,
    Partitioner,
    PlannedSplit,
)
from unskew.partitioners.full_knowledge import KeyCosts
from unskew.partitioners.settings import changed_settings, described, settings_of
from unskew.sketches.cost_pair import CostPair, CostShape
from unskew.sketches.key_counts import KeyCounts

WORKERS = 8
_KEYS = np.array([2**8, 2**62, 2**63], dtype=np.uint64)
_COUNTS = KeyCounts(_KEYS, np.array([900, 60, 40], dtype=np.int64))
_SPLIT = PlannedSplit(WORKERS, counts=_COUNTS)
_TABLE = {"keys": _KEYS, "owners": np.array([3, 5, 7], dtype=np.int32)}
_ARCS = {"owners": np.array([6, 0, 2], dtype=np.int32), "arcs": np.array([5, 0, 3])}
_PARTS = {name: getattr(_SPLIT, name) for name in ("keys", "starts", "owners", "shares")}


def _learned() -> CostPair:
    pair = CostPair(CostShape())
    pair.add(_KEYS, np.array([100.0, 10.0, 1.0]))
    return pair


_OTHERS: dict[tuple[str, str], Mapping[str, Any]] = {
    ("pkg", "period"): {"period": 200, "estimate": "probing"},
    **{("weighted-kg", name): _ARCS for name in _ARCS},
    **{("routing-table", name): _TABLE for name in _TABLE},
    ("routing-table", "base"): {"base": ConsistentRing(WORKERS)},
    **{("planned-split", name): _PARTS for name in _PARTS},
    ("planned-split", "counts"): {"counts": _COUNTS},
    ("offline-greedy", "counts"): {"counts": _COUNTS},
    ("adaptive-split", "start"): {"start": _SPLIT},
    ("adaptive-split", "counters"): {"counters": 3, "interval": 100},
    ("cg", "owners"): {"owners": np.repeat(np.arange(WORKERS, dtype=np.int32), 20)},
    ("posg", "learned"): {"learned": _learned().learned()},
    ("full-knowledge", "costs"): {"costs": KeyCosts(_KEYS, np.array([100.0, 10.0, 1.0]))},
    ("full-knowledge", "factors"): {"factors": np.arange(1.0, WORKERS + 1)},
}
"""Values of types that have no obvious other value, with what must be given beside them."""


@dataclass(frozen=True)
class Example:
    """A setting with another value than its default, and what must be given with it."""

    scheme: str
    setting: str
    given: Mapping[str, Any]
    shown: str = field(default="")
    """The setting as the table shows it."""

    @property
    def partitioner(self) -> Partitioner:
        """What the setting describes."""
        return described(self.scheme, WORKERS, self.given)


def examples() -> Iterator[Example]:
    """Every setting of every scheme; one that is a word with each of its other words."""
    for scheme in ALL:
        for setting, hint in settings_of(scheme).items():
            usual = getattr(described(scheme, WORKERS, {}), setting)
            words = [word for word in _words(hint) if word != usual]
            for word in words:
                yield Example(scheme, setting, {setting: word}, f'{setting}="{word}"')
            if not words:
                other = _OTHERS.get((scheme, setting)) or {setting: _other(hint, usual)}
                yield Example(scheme, setting, other, setting)


def _words(hint: Any) -> tuple[str, ...]:
    return get_args(hint) if get_origin(hint) is Literal else ()


def _other(hint: Any, usual: Any) -> Any:
    kind = alternatives(hint)[0]
    if kind is bool:
        return not usual
    if kind is int:
        return 2 * usual if usual else 3
    if kind is float:
        return 5 * usual if usual else 0.1
    raise SystemExit(f"give an example of {hint} in {__file__}")


def on_batch(example: Example) -> str:
    """What becomes of the setting where a batch is routed for work that the scheme may do."""
    return _answer(example, example.partitioner.need)


def on_stream(example: Example) -> str:
    """What becomes of it in a stream, whose partial results merge."""
    found = _answer(example, Need.MERGEABLE)
    replanned = example.scheme == ConsistentGrouping.scheme and found == "no, nobody reports"
    return "`replanned`" if replanned else found


def _answer(example: Example, need: Need) -> str:
    if example.scheme in PLANNED:
        return "as an object"
    try:
        scheme, _ = with_settings(example.scheme, WORKERS, example.given)
        assert not isinstance(scheme, str)
        check_need_of(scheme, need)
        check_reports(scheme)
    except UnskewError as refused:
        reasons = ("does not guarantee", "one router", "report")
        words = ("no, any row", "no, one router for all", "no, nobody reports")
        return next(
            word for reason, word in zip(reasons, words, strict=True) if reason in str(refused)
        )
    assert example.setting in changed_settings(scheme)
    return "yes"


def settings_table() -> str:
    """One line for each setting."""
    lines = ["| scheme | setting | simulator | batch | stream |", "|---|---|---|---|---|"]
    for each in examples():
        where = f"| yes | {on_batch(each)} | {on_stream(each)} |"
        lines.append(f"| [`{each.scheme}`](schemes/{each.scheme}.md) | `{each.shown}` {where}")
    planned = ", ".join(f"`{name}`" for name in ("auto", *PLANNED))
    lines += [
        f"| {planned} | `{each.name}` | no | yes | with `history=` |"
        for each in fields(PlanSettings)
    ]
    return "\n".join(lines)
