"""Figures 17 to 21: table size, adjustments, window and β."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unskew.partitioners import ConsistentRing, RoutingTable
from unskew.rebalancing import MinMig, Mixed
from unskew_lab.papers.judging import DRAWS
from unskew_lab.papers.plot import Panel, Plot
from unskew_lab.papers.reading import lines, near, numbers, rising, the, where
from unskew_lab.papers.skewness_and_variance.parameters import ours_against, ratios
from unskew_lab.papers.skewness_and_variance.planning import (
    CHOICES,
    Load,
    Planned,
    load,
    rivals,
)
from unskew_lab.papers.specification import Claim, Figure, Row, Setting

TABLES = tuple(2**power for power in range(14))
BETAS = (1.0, 1.25, 1.5, 1.75, 2.0)
TIMES = (1, 5, 10, 15, 20)
SHOWN = 50


def _fig17_cells(setting: Setting) -> list[Planned]:
    return [
        Planned(
            load(setting), (("Mixed", Mixed(theta, table)),), (("limit", table), ("theta", theta))
        )
        for theta in (0.02, 0.08)
        for table in TABLES
    ]


def _knee(rows: Sequence[Row]) -> int:
    """The smallest table from which on the migration is within a tenth of what it ends at."""
    migration = numbers(rows, "migration")
    enough = [i for i in range(len(rows)) if max(migration[i:]) <= 1.1 * migration[-1] + 1e-12]
    return int(rows[enough[0]]["limit"])


def _fig17_claims(rows: Sequence[Row]) -> list[Claim]:
    claims = []
    for theta in (0.02, 0.08):
        part = where(rows, theta=theta)
        migration, knee = numbers(part, "migration"), _knee(part)
        claims.append(
            Claim(
                f"θ={theta}: migration is high while the table is too small and falls sharply once "
                "it is large enough",
                "falls at 2,000 entries (θ=0.08)",
                f"{migration[0]:.2%} with {TABLES[0]} entry, {migration[-1]:.2%} with "
                f"{TABLES[-1]:,}; falls by {knee:,} entries",
                migration[0] > 1.5 * migration[-1] and near(knee, 2_000, 4),
                "the trend holds; the generator takes the imbalance from few hot keys, so tens of "
                "entries are enough where the paper's tables hold many light keys",
                value=float(knee),
            )
        )
    return claims


@dataclass(frozen=True, slots=True)
class Adjusted:
    """The growth of MinMig's table over many adjustments."""

    load: Load
    theta: float

    def measure(self) -> Sequence[Row]:
        """A row for every so many adjustments."""
        planner = MinMig(self.theta)
        table = RoutingTable(self.load.workers, base=ConsistentRing(self.load.workers))
        every = max(1, self.load.intervals // SHOWN)
        rows: list[Row] = []
        for adjustment, keys in enumerate(self.load.statistics(), start=1):
            table = planner.rebalance(keys, table, self.load.workers).table
            if adjustment % every == 0:
                rows.append(
                    {
                        "θ": f"{self.theta:g}",
                        "keys": self.load.keys,
                        "adjustments": adjustment,
                        "table": table.keys.size,
                    }
                )
        return rows


def _fig18_cells(setting: Setting) -> list[Adjusted]:
    intervals = 1_000 if setting.quick else 10_000
    keys = 2_000 if setting.quick else 10_000
    return [
        Adjusted(load(setting, keys=keys, intervals=intervals, window=1, rate=2.0), theta)
        for theta in (0.0, 0.02, 0.08)
    ]


def _fig18_claims(rows: Sequence[Row]) -> list[Claim]:
    keys = float(rows[0]["keys"])
    limit = 14 / 15 * keys
    ends = {theta: numbers(where(rows, θ=theta), "table")[-1] for theta in ("0", "0.02", "0.08")}
    grown = all(rising(numbers(where(rows, θ=theta), "table"), slack=0.1) for theta in ends)
    return [
        Claim(
            "MinMig's table tends to (N_D − 1)/N_D · K, whatever θ",
            f"{limit:,.0f} of {keys:,.0f} keys",
            "; ".join(f"θ={theta}: {size:,.0f}" for theta, size in ends.items())
            + f" after {int(rows[-1]['adjustments']):,} adjustments",
            grown and all(near(end, limit, 1.1) for end in ends.values()),
            "each adjustment moves a few heavy keys, so with a looser θ the table fills slowly, "
            "and keys that are not heavy enough never enter",
            value=min(ends.values()) / limit,
        ),
        Claim(
            "a smaller θ makes the table grow faster",
            "faster",
            ", ".join(f"{size:,.0f} (θ={theta})" for theta, size in ends.items()),
            ends["0"] > ends["0.02"] >= ends["0.08"],
            value=ends["0"] / ends["0.08"],
        ),
    ]


def _fig19_cells(setting: Setting) -> list[Planned]:
    intervals = 16 if setting.quick else 25
    return [
        Planned(load(setting, window=window, intervals=intervals), rivals()) for window in TIMES
    ]


def _fig19_claims(rows: Sequence[Row]) -> list[Claim]:
    found = ratios(rows, "window")
    mixed = numbers(where(rows, planner="Mixed"), "migration")
    return [
        Claim(
            "a larger window migrates less",
            "falls with w",
            f"{mixed[0]:.2%} at w=1, {mixed[-1]:.2%} at w=20 (Mixed)",
            mixed[-1] < mixed[0],
            value=mixed[-1] / max(mixed[0], 1e-12),
        ),
        Claim(
            "Mixed migrates less than MinTable at every w",
            "less",
            "MinTable moves " + ", ".join(f"{ratio:.1f}" for ratio in found) + " times as much",
            min(found) >= 1,
            value=min(found),
        ),
        ours_against(rows, "window"),
    ]


def _fig20_cells(setting: Setting) -> list[Planned]:
    return [
        Planned(
            load(setting, intervals=11, window=window),
            (("MinMig", MinMig(theta, beta)),),
            (("beta", beta), ("theta", theta)),
        )
        for window in (1, 5)
        for theta in (0.02, 0.08)
        for beta in BETAS
    ]


def _by_beta(rows: Sequence[Row], column: str, window: int) -> list[float]:
    return [the(rows, column, beta=beta, theta=0.08, window=window) for beta in BETAS]


def _fig20_claims(rows: Sequence[Row]) -> list[Claim]:
    tables = _by_beta(rows, "table", 5)
    settled = tables[2:]
    return [
        Claim(
            "a larger β makes a smaller table",
            "falls with β",
            ", ".join(
                f"{size:,.0f} (β={beta:g})" for beta, size in zip(BETAS, tables, strict=True)
            ),
            tables[-1] < tables[0],
            value=tables[-1] / max(tables[0], 1),
        ),
        Claim(
            "from β=1.5 on the table's size is stable",
            "stable",
            f"{min(settled):,.0f} … {max(settled):,.0f}",
            max(settled) <= 1.5 * min(settled),
            value=max(settled) / max(min(settled), 1),
        ),
    ]


def _fig21_claims(rows: Sequence[Row]) -> list[Claim]:
    migration = _by_beta(rows, "migration", 5)
    return [
        Claim(
            "a larger β cares less for migration",
            "grows with β",
            ", ".join(
                f"{each:.2%} (β={beta:g})" for beta, each in zip(BETAS, migration, strict=True)
            ),
            migration[-1] > migration[0],
            value=migration[-1] / max(migration[0], 1e-12),
        )
    ]


def _over_beta(rows: Sequence[Row], column: str, title: str, unit: str) -> Plot:
    named = [{**row, "line": f"θ={row['theta']}, w={row['window']}"} for row in rows]
    return Plot(
        f"Skewness and variance, {title}",
        [Panel("MinMig", "β", unit, lines(named, "beta", column, "line"))],
        columns=1,
    )


def _fig17_plot(rows: Sequence[Row]) -> Plot:
    named = [{**row, "line": f"θ={row['theta']}"} for row in rows]
    panel = Panel(
        "Mixed",
        "table limit",
        "share of all state",
        lines(named, "limit", "migration", "line"),
        log_x=True,
    )
    return Plot("Skewness and variance, Fig 17: table limit", [panel], columns=1)


def _fig18_plot(rows: Sequence[Row]) -> Plot:
    panel = Panel(
        "MinMig",
        "adjustments",
        "entries",
        lines(rows, "adjustments", "table", "θ", points=False),
    )
    return Plot("Skewness and variance, Fig 18: growth of the table", [panel], columns=1)


def _fig19_plot(rows: Sequence[Row]) -> Plot:
    panel = Panel(
        "migration", "w", "share of all state", lines(rows, "window", "migration", "planner")
    )
    return Plot("Skewness and variance, Fig 19: window", [panel], columns=1)


FIGURES = (
    Figure("17", "Table limit", _fig17_cells, _fig17_claims, _fig17_plot, CHOICES, DRAWS),
    Figure(
        "18", "Growth of MinMig's table", _fig18_cells, _fig18_claims, _fig18_plot, CHOICES, DRAWS
    ),
    Figure("19", "Window", _fig19_cells, _fig19_claims, _fig19_plot, CHOICES, DRAWS),
    Figure(
        "20",
        "β and the table",
        _fig20_cells,
        _fig20_claims,
        lambda rows: _over_beta(rows, "table", "Fig 20: β and the table", "entries"),
        CHOICES,
        DRAWS,
    ),
    Figure(
        "21",
        "β and migration",
        _fig20_cells,
        _fig21_claims,
        lambda rows: _over_beta(rows, "migration", "Fig 21: β and migration", "share of all state"),
        CHOICES,
        DRAWS,
    ),
)
