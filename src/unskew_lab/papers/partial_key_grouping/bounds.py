"""The bounds and the examples of section 5."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unskew.kernels.mixing import salt_all
from unskew.partitioners import PartialKey
from unskew.sketches.key_counts import KeyCounts
from unskew.workloads import Stream
from unskew_lab.papers.judging import DRAWS
from unskew_lab.papers.partial_key_grouping.estimation import level
from unskew_lab.papers.reading import numbers, rising, the, where
from unskew_lab.papers.specification import Claim, Figure, Row, Setting
from unskew_lab.papers.streams import on_reals, size, zipf

LENGTHS = (10_000, 100_000, 1_000_000)
REPEATS = 50


@dataclass(frozen=True, slots=True)
class UniformKeys:
    """Greedy-d on equally frequent keys, some number of them per worker."""

    stream: Stream
    choices: int
    workers: int
    part: str

    def measure(self) -> Sequence[Row]:
        """One row; `unused` is the share of the workers that no key may use."""
        scheme = PartialKey(self.workers, choices=self.choices, distinct=False)
        result = level("uniform", self.stream, f"d={self.choices}", scheme).run()
        return [
            {
                "part": self.part,
                "scheme": f"d={self.choices}",
                "workers": self.workers,
                "above_mean": float(result.loads.max() / result.loads.mean()) - 1,
                "unused": float(np.mean(result.loads == 0)),
            }
        ]


@dataclass(frozen=True, slots=True)
class Overloaded:
    """PKG where the hottest key alone is more than its two workers' share."""

    name: str
    stream: Stream
    workers: int

    def measure(self) -> Sequence[Row]:
        """One row with the lower bound (p₁/2 − 1/n), or none if it does not apply."""
        counts = KeyCounts.of(self.stream.chunks()).counts
        top = int(counts[0]) / int(counts.sum())
        if top <= 2 / self.workers:
            return []
        scheme = PartialKey(self.workers, distinct=False)
        bound = top / 2 - 1 / self.workers
        rows = level(self.name, self.stream, "PKG", scheme).measure()
        return [{"part": "lower", "bound": bound, **row} for row in rows]


@dataclass(frozen=True, slots=True)
class TwoKeys:
    """Two keys, equally likely, that share none of their four workers."""

    seed: int

    def measure(self) -> Sequence[Row]:
        """For each length of the stream, the mean imbalance over √m."""
        scheme, pair = PartialKey(4, distinct=False), self._apart()
        random = np.random.default_rng(self.seed)
        rows: list[Row] = []
        for messages in LENGTHS:
            found = []
            for _ in range(REPEATS):
                keys = pair[random.integers(0, 2, messages)]
                loads = np.bincount(scheme.router().route(keys), minlength=4)
                found.append((loads.max() - loads.mean()) / messages**0.5)
            rows.append({"part": "√m", "messages": messages, "of_root": float(np.mean(found))})
        return rows

    def _apart(self) -> np.ndarray:
        """Two key hashes whose choices are four workers."""
        for salt in range(self.seed, self.seed + 10_000):
            pair = salt_all(np.array([1, 2], dtype=np.uint64), np.uint64(salt + 1000))
            routed = [PartialKey(4, distinct=False).router().route(np.repeat(k, 4)) for k in pair]
            if np.unique(routed).size == 4:
                return pair
        raise AssertionError("no pair of keys has four workers")


def _cells(setting: Setting) -> list[UniformKeys | Overloaded | TwoKeys]:
    sizes = (10, 100, 1000) if setting.quick else (10, 100, 1000, 3000)
    hot = {1.0: (50, 100), 1.4: (10, 50, 100), 2.0: (10, 50, 100)}
    return [
        *(
            UniformKeys(zipf(setting, 0.0, 5 * n, max(100_000, n**2)), d, n, "upper")
            for d in (1, 2)
            for n in sizes
        ),
        UniformKeys(zipf(setting, 0.0, 1000, 1_000_000), 2, 1000, "n keys"),
        *(
            Overloaded(f"z={z}", zipf(setting, z, 100_000, size(setting, quick=500_000)), n)
            for z, workers in hot.items()
            for n in workers
        ),
        TwoKeys(setting.seed),
    ]


def _on_real(setting: Setting, name: str, stream: Stream) -> list[Overloaded]:
    return [Overloaded(name, stream, n) for n in (10, 50, 100)]


def _claims(rows: Sequence[Row]) -> list[Claim]:
    lower = where(rows, part="lower")
    margin = min((float(row["imbalance"]) - float(row["bound"]) for row in lower), default=0.0)
    claims = [
        Claim(
            "if p₁ > 2/n the imbalance is at least (p₁/2 − 1/n)·m",
            "≥",
            f"{len(lower)} runs, at least {margin:+.1e}·m from it",
            margin >= -1e-12,
            value=margin,
            always=True,
        )
    ]
    return claims + _examples(rows) if where(rows, part="upper") else claims


def _examples(rows: Sequence[Row]) -> list[Claim]:
    one, two = (numbers(where(rows, part="upper", scheme=f"d={d}"), "above_mean") for d in (1, 2))
    (crowd,) = where(rows, part="n keys")
    unused, excess = float(crowd["unused"]), float(crowd["above_mean"])
    roots = [the(rows, "of_root", part="√m", messages=m) for m in LENGTHS]
    return [
        Claim(
            "if p₁ ≤ 1/(5n) it is O(m/n) with two choices, and grows with n with one",
            "d=2 constant, d=1 like ln n / ln ln n",
            f"in units of m/n over n: d=2 {_short(two)}; d=1 {_short(one)}",
            max(two) < 2 and rising(one) and one[-1] > 1.2 * one[0],
            value=one[-1] / one[0],
        ),
        Claim(
            "n equally frequent keys leave 0.135·n workers unused: imbalance ≥ 0.156·m/n",
            "0.135, ≥ 0.156",
            f"{unused:.3f}, {excess:.2f} (n = 1,000)",
            abs(unused - 0.135) <= 0.03 and excess >= 0.156,
            value=unused,
        ),
        Claim(
            "two keys on four workers of their own: imbalance Ω(√m)",
            "grows like √m",
            f"{_short(roots)}·√m for m = {', '.join(f'{m:,}' for m in LENGTHS)}",
            min(roots) > 0.1 and max(roots) <= 1.5 * min(roots),
            value=min(roots),
        ),
    ]


def _short(values: Sequence[float]) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


FIGURES = (
    Figure(
        "section-5", "Bounds and examples of the analysis", _cells, _claims, draws=DRAWS,
        real=on_reals(_on_real),
    ),
)  # fmt: skip
