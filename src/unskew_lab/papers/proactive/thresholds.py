"""What the sweeps share: the paper's setting, gains over round robin, reasons and plots."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from unskew_lab.papers.plot import Panel, Plot
from unskew_lab.papers.proactive.streams import OFTEN, OFTEN_2, POSG, ROUND_ROBIN, VARIANTS
from unskew_lab.papers.reading import lines, numbers, spread_of, the, where
from unskew_lab.papers.specification import Row

LIGHTER = 1.02
"""Provisioning at which round robin takes what figure 4 shows."""


def stated(rows: Sequence[Row]) -> list[Row]:
    """The rows at the provisioning that the paper states."""
    return where(rows, provisioning=100)


def lighter(rows: Sequence[Row]) -> list[Row]:
    """The rows at a little more provisioning."""
    return where(rows, provisioning=round(100 * LIGHTER))


def gain(rows: Sequence[Row], x: float, scheme: str = POSG, column: str = "speed_up") -> float:
    """The mean speed-up over round robin at one point."""
    return the(rows, column, x=x, scheme=scheme)


def later(rows: Sequence[Row], x: float, scheme: str = POSG) -> float:
    """The same over the rows after POSG has left round robin."""
    return gain(rows, x, scheme, "speed_up_after")


def too_slow(here: Sequence[Row], less: Sequence[Row]) -> str:
    """The reason to believe that the paper's load was a little lower than stated."""
    times = [numbers(where(rows, scheme=ROUND_ROBIN), "milliseconds") for rows in (here, less)]
    return (
        f"figure 4 ends at 400 ms, but at 100 % load round robin takes {spread_of(times[0])} ms, "
        f"at 102 % {spread_of(times[1])} ms: the paper's load was most likely a little lower"
    )


def per_cent(gains: Sequence[float]) -> str:
    """Gains as text."""
    return " and ".join(f"{100 * (each - 1):+.0f} %" for each in gains)


def literally(rows: Sequence[Row], *points: float) -> str:
    """What POSG gives at some points with the paper's text taken literally, and asking more."""
    parts = [
        f"{name} {', '.join(f'{gain(rows, x, name):.2f}' for x in points)}"
        for name in (*VARIANTS, OFTEN, OFTEN_2)
    ]
    return f"taken literally, or asking more often (at {', '.join(f'{x:g}' for x in points)}): " + (
        "; ".join(parts)
    )


def pictured(
    title: str, x: str, times: bool = False, log_x: bool = False
) -> Callable[[Sequence[Row]], Plot]:
    """Mean, least and greatest completion time or speed-up over x."""
    column, label = ("milliseconds", "mean completion time, ms") if times else ("speed_up", "")

    def plot(rows: Sequence[Row]) -> Plot:
        # Figure 5 has the provisioning as its x; the other figures show the stated one.
        own = [row for row in rows if row["provisioning"] in (100, row["x"])]
        shown = own if times else [row for row in own if row["scheme"] != ROUND_ROBIN]
        panels = [Panel("mean", x, label, lines(shown, "x", column), log_x=log_x)]
        panels += [
            Panel(f"{end} of the streams", x, label, lines(shown, "x", f"{end}_{column}"))
            for end in ("least", "most")
        ]
        return Plot(title, panels)

    return plot
