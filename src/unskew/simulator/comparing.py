"""A comparison of all legal schemes on one stream, best first, with a recommendation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from unskew.errors import NeedError
from unskew.partitioners import ALL, Need, Partitioner

ALIKE = 1.1
"""Schemes whose balance is within a tenth of each other count as equally good."""

Found = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The results of each scheme, best first, and the recommended one."""

    measure: str
    rows: Sequence[Found]
    advice: str

    @property
    def best(self) -> str:
        """The recommended scheme."""
        return str(self.rows[0]["scheme"])


def legal(partitioners: Mapping[str, Partitioner], need: Need) -> dict[str, Partitioner]:
    """The partitioners that give the guarantee that the work needs."""
    kept = {name: each for name, each in partitioners.items() if each.need.keeps(need)}
    if not kept:
        raise NeedError(f"none of the schemes guarantees {need.value}; there are {', '.join(ALL)}")
    return kept


def compare(found: Sequence[Found], timed: bool) -> Comparison:
    """Rank by the 99th percentile of latency where there is time, else by the highest load.

    Among those that are alike in that, the one with fewer replicas is better; then the simpler,
    which is the one that came first.

    >>> kg = {"scheme": "kg", "max_over_mean": 1.04, "replication": 1.0}
    >>> sg = {"scheme": "sg", "max_over_mean": 1.00, "replication": 7.5}
    >>> compare([sg, kg], timed=False).best
    'kg'
    """
    measure = "latency_p99" if timed else "max_over_mean"
    best = min(_number(row, measure) for row in found)

    def rank(row: Found) -> tuple[int, float]:
        behind = _number(row, measure) / best if best else 1.0
        return math.ceil(math.log(max(behind / ALIKE, 1.0), ALIKE)), _number(row, "replication")

    rows = sorted(found, key=rank)
    return Comparison(measure, rows, _advice(rows, measure))


def _advice(rows: Sequence[Found], measure: str) -> str:
    taken = rows[0]
    unit = " s" if measure == "latency_p99" else ""
    words = "p99 latency" if measure == "latency_p99" else "max/mean load"
    copies = _number(taken, "replication")
    held = "each key stays whole" if copies == 1 else f"a key is on {copies:.2f} workers"
    text = f"Take {taken['scheme']}: {words} {_number(taken, measure):.3g}{unit}, and {held}."
    plain = next((row for row in rows if row["scheme"] == "kg"), None)
    if plain is taken:
        return text + " Plain hashing is as good as anything here."
    if plain is not None:
        text += f" Plain hashing (kg) has {_number(plain, measure):.3g}{unit}."
    level = min(rows, key=lambda row: _number(row, measure))
    if level is not taken and _number(level, "replication") > copies:
        text += (
            f" {level['scheme']} is no more than a tenth better, and puts a key on "
            f"{_number(level, 'replication'):.2f}."
        )
    return text


def _number(row: Found, field: str) -> float:
    return float(row[field])  # type: ignore[arg-type]
