"""POSG's figures as the paper has them."""

from __future__ import annotations

from typing import Any

from tests.lab.papers.worlds.making import Rows, World, grid, put, times

from unskew_lab.papers.proactive.loads import PROVISIONING, SKEWS
from unskew_lab.papers.proactive.parameters import EPSILONS, HIGHEST, LONG, VALUES
from unskew_lab.papers.proactive.streams import (
    LATE,
    OFTEN,
    OFTEN_2,
    ORACLE,
    POSG,
    ROUND_ROBIN,
    VARIANTS,
    WRITTEN,
)

SCHEMES = (ROUND_ROBIN, POSG, ORACLE, LATE, *VARIANTS, OFTEN, OFTEN_2)


def scheduled(points: Any, gain: Any, provisioning: Any = (100, 102), rows: int = 32_768) -> Rows:
    """A sweep in which POSG has these speed-ups, and full knowledge a little more."""

    def speed_up(row: dict[str, Any]) -> float:
        if row["scheme"] == ROUND_ROBIN:
            return 1.0
        return gain(row["x"]) + (0.1 if row["scheme"] == OFTEN else 0)

    made = grid(
        {"provisioning": provisioning, "x": tuple(points), "scheme": SCHEMES},
        speed_up=speed_up,
        speed_up_after=speed_up,
        milliseconds=lambda row: 200 / row["speed_up"],
        rows=rows,
        leaves_round_robin=10_000,
        messages_of_bound=0.7,
    )
    for row in made:
        row["least_speed_up"] = row["speed_up"] * 0.99
        row["least_milliseconds"] = row["milliseconds"] * 0.95
        row["most_milliseconds"] = row["milliseconds"] * 1.05
    return made


BOUNDS = World(
    [
        {"round_robin": 29.0, "known": 21.0},
        {"workers": 2, "worst": 1.3, "tight": 1.5, "bound": 1.5},
        {"workers": 3, "worst": 1.4, "tight": 5 / 3, "bound": 5 / 3},
        {"cost": 1, "ours": 32.08, "formula": 32.08},
        {"cost": 64, "ours": 32.92, "formula": 32.92},
    ],
    [
        ("rows of 10, 1", put({"known": 21.0}, known=22.0)),
        ("greedy makespan", put({"workers": 2}, worst=1.6)),
        ("greedy makespan", put({"workers": 3}, tight=1.5)),
        ("E[W/C]", put({"cost": 64}, ours=33.5)),
    ],
)
OF_BOUND = {"worker": 27.0, "source": 17.0}
MEMORY = World(
    [
        {
            "where": place,
            "workers": workers,
            "epsilon": epsilon,
            "rows": rows,
            "bytes": 6_000,
            "of_bound": of_bound,
        }
        for workers, epsilon, rows in (
            (5, 0.05, 32_768),
            (5, 0.001, 32_768),
            (50, 0.05, 32_768),
            (5, 0.05, 262_144),
        )
        for place, of_bound in OF_BOUND.items()
    ],
    [
        ("bits at a worker", times(8, "of_bound", where="worker", rows=262_144)),
        ("bits at a worker", times(50, "of_bound", where="worker", epsilon=0.001)),
        ("bits at a source", times(10, "of_bound", where="source", workers=50)),
    ],
)
SKEW_GAINS = {0.0: 1.06, 0.5: 1.06, 1.0: 1.25, 1.5: 1.5, 2.0: 1.8, 2.5: 2.0, 3.0: 2.0}
FIG4 = World(
    scheduled(SKEWS, SKEW_GAINS.__getitem__),
    [
        ("full knowledge ≤ POSG", put({"scheme": POSG, "x": 2.0}, milliseconds=900)),
        ("full knowledge ≤ POSG", put({"scheme": ORACLE, "x": 2.0}, milliseconds=900)),
        ("z = 0 and 0.5", put({"scheme": POSG, "x": 0.0}, speed_up=0.9)),
        ("z = 0 and 0.5", put({"scheme": POSG, "x": 0.5}, speed_up=1.5)),
        ("gain at z = 1", put({"scheme": POSG, "x": 1.0}, speed_up=1.1)),
        ("gain at z = 1", put({"scheme": POSG, "x": 1.0}, speed_up=1.9)),
        ("slowest stream", put({"scheme": POSG, "x": 1.5}, most_milliseconds=900)),
        ("equals full knowledge", put({"scheme": POSG, "x": 2.5}, milliseconds=190)),
        ("ahead of round robin", put({"scheme": POSG, "x": 1.5}, least_speed_up=0.9)),
        ("worth its messages", put({"scheme": OFTEN}, speed_up=1.0)),
    ],
)
PROVISIONED = {p: 1.07 if p >= 112 else 1.26 if p == 102 else 1.2 for p in PROVISIONING}
FIG5 = World(
    scheduled(PROVISIONING, PROVISIONED.__getitem__, (100,)),
    [
        ("100 % to 109 %", put({"scheme": POSG}, speed_up=1.1)),
        ("the peak", put({"scheme": POSG, "x": 102}, speed_up=1.9)),
        ("the peak", put({"scheme": POSG, "x": 112}, speed_up=1.3)),
        ("at 115 %", put({"scheme": POSG, "x": 115}, speed_up=1.4)),
    ],
)
FIG6 = World(
    scheduled(HIGHEST, lambda x: 1.19, (100,)),
    [
        ("hardly depends", put({"scheme": POSG, "x": 512}, speed_up=1.5)),
        ("hardly depends", put({"scheme": POSG}, speed_up=1.0)),
    ],
)
FIG7 = World(
    put({"x": 2}, most_milliseconds=900)(scheduled(VALUES, lambda x: 1.19, (100,))),
    [
        ("hardly depends", put({"scheme": POSG, "x": 2}, speed_up=1.6)),
        ("their spread fall", put({"x": 16}, most_milliseconds=2_000)),
        ("their spread fall", put({"scheme": POSG, "x": 64}, milliseconds=900)),
    ],
)
BY_WORKERS = dict(
    zip(range(1, 11), (1, 1.2, 1.25, 1.27, 1.28, 1.29, 1.3, 1.3, 1.3, 1.313), strict=True)
)
FIG8 = World(
    [
        *scheduled(range(1, 11), BY_WORKERS.__getitem__),
        *scheduled((2, 3, 9, 10), BY_WORKERS.__getitem__, (102,), LONG),
    ],
    [
        ("one worker", put({"x": 1}, speed_up=1.1)),
        ("from 2 to 3", put({"x": 3}, speed_up=1.1)),
        ("from 9 to 10", put({"x": 10}, speed_up=1.5)),
        ("Theorem 3.3", put({"x": 10}, messages_of_bound=5)),
    ],
)
FIG9 = World(
    scheduled(EPSILONS, lambda x: 1.01 * x**-0.114),
    [
        ("a tenth of ε", put({}, speed_up=1.2)),
        ("a tenth of ε", put({"x": 0.001}, speed_up=9)),
        ("least speed-up", put({"scheme": POSG, "x": 0.05}, least_speed_up=0.8)),
    ],
)
TIMES = {ROUND_ROBIN: 900.0, POSG: 300.0, WRITTEN: 500.0}
FIG10 = World(
    grid(
        {"seed": (1,), "scheme": tuple(TIMES), "row": range(2_000, 152_000, 2_000)},
        milliseconds=lambda row: (
            TIMES[row["scheme"]]
            * (2 if row["scheme"] == POSG and 75_000 < row["row"] <= 100_000 else 1)
        ),
        left=10_690,
        starts=11_000,
        relearned=84_912,
    ),
    [
        ("leaves round robin", put({"scheme": POSG}, left=20_978)),
        ("completes rows sooner", put({"scheme": POSG}, milliseconds=900)),
        ("updated matrices", put({"scheme": POSG}, relearned=99_000)),
        ("POSG recovers", put({"scheme": POSG}, milliseconds=lambda r: r["row"] / 100)),
    ],
)
FIG12 = World(
    grid(
        {"provisioning": (100, 102, 105), "k": (2, 5, 10)},
        speed_up=lambda row: {2: 1.6, 5: 1.35, 10: 1.16}[row["k"]],
        messages=916,
    ),
    [
        ("mean speed-up", put({}, speed_up=1.0)),
        ("mean speed-up", put({}, speed_up=2.0)),
        ("gain shrinks", put({"k": 10}, speed_up=1.7)),
        ("few messages", put({}, messages=9_000)),
    ],
)

WORLDS = {
    "bounds": BOUNDS, "memory": MEMORY, "4": FIG4, "5": FIG5, "6": FIG6, "7": FIG7, "8": FIG8,
    "9": FIG9, "10": FIG10, "12": FIG12,
}  # fmt: skip
