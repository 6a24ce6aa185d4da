"""Verdicts over draws: the median decides, and how many draws agree is told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from unskew_lab.papers.specification import Claim, Evidence, Figure, Row, Value

DRAWS = 11
"""An odd number: the median is then one of them."""


def judged(figure: Figure, draws: Sequence[Sequence[Row]]) -> list[Claim]:
    """The claims of a figure on the medians of its draws, each with how many draws agree."""
    each = [figure.claims(rows) for rows in draws]
    middle = figure.claims(median_rows(draws))
    return [_over(claim, alone) for claim, *alone in zip(middle, *each, strict=True)]


def median_rows(draws: Sequence[Sequence[Row]]) -> list[Row]:
    """The rows of equal cells as one: numbers are medians, all else is as in the first draw.

    >>> median_rows([[{"z": 1, "x": 3.0}], [{"z": 1, "x": 4.0}], [{"z": 1, "x": 9.0}]])
    [{'z': 1, 'x': 4.0}]
    """
    return [
        {name: _median([row[name] for row in rows]) for name in rows[0]}
        for rows in zip(*draws, strict=True)
    ]


def _median(values: Sequence[Value]) -> Value:
    first = values[0]
    if isinstance(first, str | bool) or all(value == first for value in values):
        return first
    return float(np.median([float(value) for value in values]))


def _over(claim: Claim, alone: Sequence[Claim]) -> Claim:
    held = sum(each.holds for each in alone)
    values = [each.value for each in alone if each.value is not None]
    return replace(
        claim,
        holds=held == len(alone) if claim.always else claim.holds,
        draws=len(alone),
        held=held,
        least=min(values, default=None),
        most=max(values, default=None),
    )


def with_evidence(
    figure: Figure, claims: Sequence[Claim], real: Mapping[str, Sequence[Row]]
) -> list[Claim]:
    """Each claim with what real streams say of it.

    A claim about one stream begins with its name and a colon; where several claims differ in
    that name only, the first has the evidence.
    """
    found: dict[str, list[Evidence]] = {}
    for stream, rows in real.items():
        for claim in figure.claims(rows):
            about = _general(claim.claim)
            found.setdefault(about, []).append(Evidence(stream, claim.ours, claim.holds))
    return [
        replace(claim, evidence=tuple(found.pop(_general(claim.claim), ()))) for claim in claims
    ]


def _general(claim: str) -> str:
    stream, colon, rest = claim.partition(": ")
    return rest if colon and " " not in stream else claim
