"""Figures 6 to 9: costs, workers and precision, with the paper's defaults for the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from unskew_lab.papers.judging import DRAWS
from unskew_lab.papers.proactive.streams import (
    CHOICES,
    LATE,
    POSG,
    Costs,
    Scheduled,
    first_seed,
    streams,
)
from unskew_lab.papers.proactive.thresholds import (
    LIGHTER,
    gain,
    lighter,
    per_cent,
    pictured,
    stated,
)
from unskew_lab.papers.reading import spread_of, the, where
from unskew_lab.papers.specification import Claim, Figure, Row, Setting

HIGHEST = (16, 32, 64, 128, 256, 512)
VALUES = (2, 4, 8, 16, 32, 64, 256)
WORKERS = range(1, 11)
COMPARED = (2, 3, 9, 10)
PAIRS = ((2, 3), (9, 10))
LONG = 150_000
EPSILONS = (1.0, 0.5, 0.2, 0.1, 0.09, 0.05, 0.02, 0.01, 0.005, 0.001)


def _fig6_cells(setting: Setting) -> list[Scheduled]:
    count = streams(setting)
    return [
        Scheduled(highest, Costs(highest=highest), streams=count, seed=first_seed(setting))
        for highest in HIGHEST
    ]


def _fig7_cells(setting: Setting) -> list[Scheduled]:
    count = streams(setting)
    return [
        Scheduled(values, Costs(values=values), streams=count, seed=first_seed(setting))
        for values in VALUES
    ]


def _steady_claims(
    what: str, paper: str, points: Sequence[float]
) -> Callable[[Sequence[Row]], list[Claim]]:
    def claims(rows: Sequence[Row]) -> list[Claim]:
        gains = [gain(rows, x) for x in points]
        return [
            Claim(
                f"the mean speed-up hardly depends on {what}",
                paper,
                f"{spread_of(gains)}, mean {np.mean(gains):.2f}",
                max(gains) - min(gains) <= 0.1 and abs(float(np.mean(gains)) - 1.19) <= 0.06,
                "at 100 % load a stream's own speed-up varies by a tenth and more; at 102 % the "
                "mean is as in figure 5",
                value=float(np.mean(gains)),
            )
        ]

    return claims


def _fig7_claims(rows: Sequence[Row]) -> list[Claim]:
    spread = {
        x: the(rows, "most_milliseconds", x=x, scheme=POSG)
        - the(rows, "least_milliseconds", x=x, scheme=POSG)
        for x in VALUES
    }
    late = [the(rows, "milliseconds", x=x, scheme=POSG) for x in VALUES if x >= 16]
    (steady,) = _steady_claims("the number of cost values", "1.19", VALUES)(rows)
    return [
        steady,
        Claim(
            "completion times and their spread fall with w_n and change little from 16 on",
            "yes",
            f"spread {spread[2]:.0f} ms at 2, {spread[16]:.0f} at 16, {spread[256]:.0f} at 256; "
            f"mean {spread_of(late)} ms from 16 on",
            spread[2] > spread[16] and max(late) <= 1.15 * min(late),
            "the cost that the most frequent items happen to get decides; few streams show little",
            value=spread[2] / max(spread[16], 1e-9),
        ),
    ]


def _fig8_cells(setting: Setting) -> list[Scheduled]:
    count, seed = streams(setting), first_seed(setting)
    long = Costs(messages=LONG)
    return [
        *(
            Scheduled(k, workers=k, provisioning=provisioning, streams=count, seed=seed)
            for provisioning in (1.0, LIGHTER)
            for k in WORKERS
        ),
        *(Scheduled(k, long, k, LIGHTER, streams=1, seed=seed) for k in COMPARED),
    ]


def _growth(rows: Sequence[Row], fewer: int, more: int, column: str = "speed_up") -> float:
    return gain(rows, more, column=column) / gain(rows, fewer, column=column) - 1


def _grown(rows: Sequence[Row], column: str = "speed_up") -> str:
    """The growth from 2 to 3 and from 9 to 10 workers, as text."""
    return " and ".join(f"{100 * _growth(rows, *pair, column):+.1f} %" for pair in PAIRS)


def _fig8_claims(rows: Sequence[Row]) -> list[Claim]:
    short, long = where(rows, rows=32_768), where(rows, rows=LONG)
    here, less = stated(short), lighter(short)
    early, late = (_growth(here, *pair) for pair in PAIRS)
    after = "speed_up_after"
    others = (
        f"after round robin {_grown(here, after)}; at 102 % {_grown(less)}, after round robin "
        f"{_grown(less, after)}; {LONG:,} rows at 102 % {_grown(long)}"
    )
    why = (
        "the more workers, the more of the 32,768 rows are dealt round robin while all of them "
        "learn (13, 19, 58, 64 % for k = 2, 3, 9, 10)"
    )
    one = gain(here, 1)
    most = max(the(here, "messages_of_bound", x=k, scheme=POSG) for k in WORKERS)
    return [
        Claim("one worker", "1.0", f"{one:.3f}", abs(one - 1) <= 0.001, value=one),
        Claim(
            "from 2 to 3 workers",
            "+4 %",
            f"{100 * early:+.1f} % (from 2 to 3 and from 9 to 10: {others})",
            0.02 <= early <= 0.06,
            why,
            value=early,
        ),
        Claim(
            "from 9 to 10 workers",
            "+1 %",
            f"{100 * late:+.1f} %",
            0.005 <= late <= 0.02,
            why,
            value=late,
        ),
        Claim(
            "Theorem 3.3: O(k·m/N) messages besides the rows",
            "≤ c·k·m/N",
            f"at most {most:.2f}·k·m/N, for k = 1 … 10",
            most <= 2,
            value=most,
            always=True,
        ),
    ]


def _fig9_cells(setting: Setting) -> list[Scheduled]:
    count, seed = streams(setting), first_seed(setting)
    return [
        Scheduled(each, provisioning=provisioning, epsilon=each, streams=count, seed=seed)
        for provisioning in (1.0, LIGHTER)
        for each in EPSILONS
    ]


def _tenfold(rows: Sequence[Row], column: str = "speed_up") -> list[float]:
    steps = ((1.0, 0.1), (0.1, 0.01), (0.01, 0.001))
    return [
        gain(rows, finer, column=column) / gain(rows, coarser, column=column)
        for coarser, finer in steps
    ]


def _least(rows: Sequence[Row]) -> list[float]:
    """The least speed-up of any stream, for every ε from 0.09 down."""
    return [
        float(row["least_speed_up"]) for row in where(rows, scheme=POSG) if float(row["x"]) <= 0.09
    ]


def _fig9_claims(rows: Sequence[Row]) -> list[Claim]:
    here, less = stated(rows), lighter(rows)
    tenfold, least, after = _tenfold(here), _least(here), "speed_up_after"
    return [
        Claim(
            "a tenth of ε brings",
            "+30 %",
            f"{per_cent(tenfold)} (after round robin {per_cent(_tenfold(here, after))}; at 102 % "
            f"{per_cent(_tenfold(less))}, after round robin {per_cent(_tenfold(less, after))})",
            1.2 <= float(np.mean(tenfold)) <= 1.4,
            "the third of the stream that is dealt round robin bounds the gain: with all costs "
            f"known from there on it is {gain(here, 0.05, LATE):.2f} ({gain(less, 0.05, LATE):.2f} "
            "at 102 %)",
            value=float(np.mean(tenfold)),
        ),
        Claim(
            "the least speed-up for ε ≤ 0.09",
            "> 1",
            f"{spread_of(least)} ({spread_of(_least(less))} at 102 %)",
            min(least) > 1,
            "one unlucky stream is enough: asked after N rows instead of k·N it holds",
            value=min(least),
            always=True,
        ),
    ]


FIGURES = (
    Figure(
        "6",
        "Completion times over the highest cost",
        _fig6_cells,
        _steady_claims("the highest cost", "1.19", HIGHEST),
        pictured("POSG, Fig 6: completion times over the highest cost", "w_max, ms", True, True),
        choices=CHOICES,
        draws=DRAWS,
    ),
    Figure(
        "7",
        "Completion times over the number of cost values",
        _fig7_cells,
        _fig7_claims,
        pictured("POSG, Fig 7: completion times over the number of costs", "w_n", True, True),
        choices=CHOICES,
        draws=DRAWS,
    ),
    Figure(
        "8",
        "Speed-up over the number of workers",
        _fig8_cells,
        _fig8_claims,
        pictured("POSG, Fig 8: speed-up over workers", "workers k"),
        choices=CHOICES,
        draws=DRAWS,
    ),
    Figure(
        "9",
        "Speed-up over the precision of the matrices",
        _fig9_cells,
        _fig9_claims,
        pictured("POSG, Fig 9: speed-up over precision", "ε", log_x=True),
        choices=CHOICES + "Columns are ⌈e/ε⌉: 3 at ε = 1 and 2,719 at 0.001, where the paper says "
        "1 and 2,781.",
        draws=DRAWS,
    ),
)
