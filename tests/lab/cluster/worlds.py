"""Rows as the papers have the figures of their clusters, and changes that contradict them."""

from __future__ import annotations

from typing import Any

from tests.lab.papers.worlds.making import Rows, World, grid, put, times

from unskew_lab.papers.proactive.streams import POSG, ROUND_ROBIN

KG, PKG, CG, SG = ("KG", "PKG", "CG", "SG")


def _streamed(seconds: dict[str, float], replicas: dict[str, float], **more: Any) -> Rows:
    """Two batches under each scheme, of which the first is a time of grace."""
    rows = []
    for scheme, took in seconds.items():
        for batch, grace in ((0, True), (1, False)):
            rows.append({
                "scheme": scheme, "delay": 1.0, "batch": batch, "grace": grace, "rows": 1000,
                "seconds": took, "span": took, "latency": took / 2, "replicas": replicas[scheme],
                "predicted": 24 / took, "predicted_latency": took / 2, **more,
            })  # fmt: skip
    return rows


MEMORY = {KG: 700.0, PKG: 850.0, CG: 850.0, SG: 1400.0}

CG12 = World(
    _streamed({KG: 2.0, PKG: 1.0, CG: 1.0, SG: 1.0}, MEMORY),
    [
        ("throughput of PKG, CG and SG", put({"scheme": CG}, seconds=1.9)),
        ("so is their latency", put({"scheme": PKG}, latency=0.95)),
        ("memory", put({"scheme": CG}, replicas=1200.0)),
        ("memory", put({"scheme": SG}, replicas=800.0)),
        ("memory", put({"scheme": KG}, replicas=900.0)),
    ],
)
CG13 = World(
    put({"scheme": KG}, latency=1.0)(_streamed({KG: 3.44, PKG: 3.4, CG: 1.0, SG: 3.4}, MEMORY)),
    [
        ("outperforms", put({"scheme": SG}, seconds=0.9)),
        ("outperforms", put({"scheme": KG}, seconds=0.9)),
        ("by this factor", put({"scheme": CG}, seconds=1.6)),
        ("latency", put({"scheme": CG}, latency=0.9)),
    ],
)


def _changing(kg: float, cg: float) -> Rows:
    return grid({"scheme": [KG, CG], "batch": range(8)}, rows=1000, latency=1.0,
                seconds=lambda row: kg if row["scheme"] == KG else cg)  # fmt: skip


CG13B = World(_changing(3.0, 1.0), [("CG adapts", put({"scheme": CG}, seconds=2.5))])


def _delayed() -> Rows:
    high = _streamed({KG: 2.0, PKG: 1.0, SG: 1.0}, {KG: 2.9, PKG: 3.6, SG: 7.2})
    low = _streamed({KG: 0.7, PKG: 0.62, SG: 0.62}, {KG: 2.9, PKG: 3.6, SG: 7.2}, delay=0.1)
    same = put({"delay": 0.1}, latency=0.3)
    return same([*low, *high])


PKG10A = World(
    _delayed(),
    [
        ("throughput falls more", put({"scheme": KG, "delay": 1.0}, seconds=1.0)),
        ("throughput falls more", times(0.1, "seconds", delay=1.0)),  # faster where rows cost more
        ("at every delay", put({"scheme": KG, "delay": 0.1}, seconds=0.5)),
        ("at every delay", put({"scheme": PKG, "delay": 1.0}, seconds=1.9)),
        ("PKG and SG are alike", put({"scheme": SG, "delay": 1.0}, seconds=0.5)),
        ("30 % more memory", put({"scheme": PKG}, replicas=7.0)),
        ("30 % more memory", put({"scheme": SG}, replicas=3.7)),
    ],
)
PKG3 = World(
    _delayed(),
    [
        ("above PKG's and SG's", put({"scheme": SG, "delay": 1.0}, latency=0.9)),
        ("all are alike", put({"scheme": PKG, "delay": 0.1}, latency=0.6)),
    ],
)


def _periodic() -> Rows:
    rows = grid(
        {"scheme": [PKG, SG], "period": [1, 3, 6], "batch": range(6)},
        rows=1000,
        counters=lambda row: 50 if row["scheme"] == PKG else 90,
        predicted=8.0,
        seconds=lambda row: (1.0 if row["scheme"] == PKG else 1.1) - row["period"] / 100,
    )
    return [*rows, *grid({"scheme": [KG], "period": [0], "batch": range(6)}, rows=1000,
                         counters=40, predicted=5.0, seconds=0.97)]  # fmt: skip


PKG10B = World(
    _periodic(),
    [
        ("above SG's at every period", put({"scheme": PKG, "period": 3}, seconds=1.2)),
        ("with less memory", put({"scheme": PKG, "period": 1}, counters=95)),
        ("above KG's", put({"scheme": KG}, seconds=0.5)),
        ("the higher the latency", put({"scheme": PKG, "period": 6}, seconds=1.05)),
    ],
)
PKG10C = World(
    grid({"scheme": [KG, PKG, SG], "batch": range(6)}, rows=1000, predicted=5.0,
         seconds=lambda row: 2.75 if row["scheme"] == KG else 1.0,
         counters=lambda row: 100 if row["scheme"] == SG else 70),
    [
        ("throughput", put({"scheme": KG}, seconds=1.0)),
        ("saves memory", put({"scheme": PKG}, counters=95)),
    ],
)  # fmt: skip


def _stateful(seconds: dict[tuple[str, float], float], batches: int = 6) -> Rows:
    return [
        {
            "scheme": scheme, "theta": theta, "rate": 1.0, "every": 2, "late": True,
            "batch": batch, "rows": 1000,
            "seconds": took, "workers": 15, "max_over_mean": took, "planning": 0.01,
        }
        for (scheme, theta), took in seconds.items()
        for batch in range(batches)
    ]  # fmt: skip


def _rated(mixed: tuple[float, float], readj: tuple[float, float]) -> Rows:
    rows: Rows = []
    for place, rate in enumerate((0.5, 2.0)):
        both = {("mixed", 0.02): mixed[place], ("readj", 0.02): readj[place]}
        rows += put({}, rate=rate)(_stateful(both))
    lasting = put({}, rate=2.0, every=4)(_stateful({("mixed", 0.02): mixed[1]}, batches=8))
    for batch in (2, 3, 6, 7):
        lasting = put({"batch": batch}, late=False, seconds=1.02)(lasting)
    return [*rows, *lasting, *put({}, rate=0.5, scheme="ideal")(_stateful({("ideal", 0.02): 1.0}))]


SV13 = World(
    _rated((1.05, 1.06), (1.1, 1.9)),
    [
        ("near the ideal whatever f", put({"scheme": "mixed", "every": 2}, seconds=1.6)),
        ("frequencies last", put({"every": 4, "late": False}, seconds=1.4)),
        ("frequencies last", put({"every": 4, "late": True}, seconds=1.0)),
        ("falls as f grows", put({"scheme": "readj", "rate": 2.0}, seconds=1.12)),
        ("falls as f grows", put({"scheme": "mixed", "rate": 2.0, "every": 2}, seconds=1.9)),
    ],
)
SV14 = World(
    _stateful({
        ("hashing", 0.02): 2.0, ("mixed", 0.02): 1.0, ("readj", 0.04): 2.0, ("mixed", 0.3): 1.2,
        ("readj", 0.3): 1.22, ("mintable", 0.02): 1.1, ("pkg", 0.0): 1.4,
    }),
    [
        ("twice as much as hashing", put({"scheme": "hashing"}, seconds=1.1)),
        ("and as Readj", put({"scheme": "readj", "theta": 0.04}, seconds=1.0)),
        ("catches up", put({"scheme": "readj", "theta": 0.3}, seconds=2.0)),
        ("strict tolerance", put({"scheme": "mixed", "theta": 0.3}, seconds=0.9)),
        ("MinTable", put({"scheme": "mintable"}, seconds=0.9)),
        ("partial key grouping", put({"scheme": "pkg"}, seconds=1.0)),
    ],
)  # fmt: skip


def _scaled() -> Rows:
    rows = _stateful({("mixed", 0.1): 1.1})
    rows = [{**row, "workers": 16 if row["batch"] >= 4 else 15} for row in rows]
    social = {"mixed": (0.5, 1.1), "readj": (300.0, 1.1)}
    plans = [
        {"planner": planner, "keys": 180_000, "planned_in": took, "max_over_mean": top}
        for planner, (took, top) in social.items()
    ]
    return [*rows, *plans]


SV15 = World(
    _scaled(),
    [
        ("has rebalanced", put({"scheme": "mixed"}, max_over_mean=1.5)),
        ("has rebalanced", put({"scheme": "mixed", "batch": 3}, planning=70.0)),
        ("its throughput", put({"scheme": "mixed", "workers": 16}, seconds=1.4)),
        # It was never level and planned in 71 ms, which once counted as "after minutes".
        ("minutes to plan", put({"planner": "readj"}, planned_in=0.071, max_over_mean=1.5)),
    ],
)
SV16 = World(
    _stateful({("hashing", 0.02): 2.0, ("mixed", 0.02): 1.0, ("readj", 0.02): 1.5}),
    [
        ("most events", put({"scheme": "hashing"}, seconds=0.9)),
        ("most events", put({"scheme": "readj"}, seconds=0.9)),
    ],
)


def _series() -> Rows:
    return grid(
        {"scheme": [POSG, ROUND_ROBIN], "row": range(3000, 150_001, 3000)},
        messages=150_000, left=20_978, heard=82_311, late=1.0,
        milliseconds=lambda row: 50.0 if row["scheme"] == POSG and row["row"] > 21_000 else 100.0,
    )  # fmt: skip


POSG11 = World(
    _series(),
    [
        ("leaves round robin", put({}, left=150_000)),
        ("leaves round robin", put({}, left=2_000)),
        ("sooner than round robin", put({"scheme": POSG}, milliseconds=101.0)),
        ("new matrices arrive", put({}, heard=150_000)),
        ("recovers", put({"scheme": POSG, "row": 150_000}, milliseconds=900.0)),
    ],
)
POSG12 = World(
    grid(
        {"scheme": [POSG, ROUND_ROBIN], "k": [2, 5, 10]},
        rows=500_000, sent=916, left=10_000, late=1.0, after=100.0, simulated=100.0,
        milliseconds=lambda row: 100.0
        if row["scheme"] == POSG
        else {2: 155.0, 5: 140.0, 10: 116.0}[row["k"]],
    ),
    [
        ("every number", put({"scheme": ROUND_ROBIN, "k": 2}, milliseconds=95.0)),
        ("mean speed-up", put({"scheme": ROUND_ROBIN}, milliseconds=105.0)),
        ("few messages", put({}, sent=50_000)),
        ("shrinks", put({"scheme": ROUND_ROBIN, "k": 10}, milliseconds=170.0)),
    ],
)  # fmt: skip

WORLDS = {
    "consistent-grouping": {"12": CG12, "13": CG13, "13-changing": CG13B},
    "partial-key-grouping": {"10a": PKG10A, "table-3": PKG3, "10b": PKG10B, "10c": PKG10C},
    "skewness-and-variance": {"13": SV13, "14": SV14, "15": SV15, "16": SV16},
    "posg": {"11": POSG11, "12": POSG12},
}
