"""The figures of the paper on partitioning functions as it has them."""

from __future__ import annotations

from tests.lab.papers.worlds.making import Rows, World, grid, put, times

from unskew_lab.papers.partitioning_functions import (
    balance,
    construction_time,
    size,
    threshold_and_workers,
    utility_and_domain,
)
from unskew_lab.papers.partitioning_functions.growth import PLANNERS, SCHEMES

TOY = World(
    [
        {"balanced for": "network", "network": 1.14, "processing": 2.26, "migration": 7.0},
        {"balanced for": "processing", "network": 2.0, "processing": 1.04, "migration": 10.0},
        {"balanced for": "both", "network": 1.14, "processing": 1.23, "migration": 10.0},
    ],
    [
        ("for network", put({"balanced for": "network"}, migration=8.0)),
        ("for processing", put({"balanced for": "processing"}, processing=1.2)),
        ("for both", put({"balanced for": "both"}, network=1.3)),
    ],
)
B = {"readj": 1.2, "redist": 1.32, "scan": 1.32, "uniform": 1.55, "consistent": 1.75}
M = {"readj": 1.34, "redist": 1.23, "scan": 1.23, "uniform": 8.5, "consistent": 1.0}
FIG3 = World(
    grid(
        {"workers": (10,), "resources": ("LCL", "LLL", "LQL"), "scheme": SCHEMES},
        imbalance=lambda row: B[row["scheme"]],
        migration=lambda row: M[row["scheme"]],
        b_c=lambda row: 35 if row["scheme"] in PLANNERS else 200,
    ),
    [(f"imbalance of {s}", times(1.6, "imbalance", scheme=s)) for s in SCHEMES]
    + [
        ("readj is best", put({"scheme": "readj"}, imbalance=1.4)),
        ("readj is best", put({"scheme": "uniform"}, imbalance=1.9)),
        ("migration of readj", put({"scheme": "scan"}, migration=2.0)),
        ("more than 8 times", put({"scheme": "uniform"}, migration=3.0)),
        ("cannot be balanced", put({"scheme": "scan"}, b_c=2)),
        ("cannot be balanced", put({}, b_c=900)),
    ],
)
LATE = {"readj": 1.4, "redist": 1.3, "scan": 1.6, "uniform": 9.0, "consistent": 1.0}
STARTS = {"LCL": 0.8, "LLL": 0.6, "LQL": 0.35}
RATHER = {"readj": 1.015, "consistent": 1.5}


def _over_skew(letters: str) -> Rows:
    """All are level up to a skew that depends on the resources."""
    return grid(
        {
            "workers": (10,),
            "resources": (letters,),
            "exponent": balance.SKEWS[letters],
            "scheme": SCHEMES,
        },
        imbalance=lambda row: (
            0.9 if row["exponent"] <= STARTS[letters] else 1.2 * RATHER.get(row["scheme"], 1)
        ),
        migration=lambda row: LATE[row["scheme"]] if row["exponent"] > 0.8 else 1.0,
    )


FIG4 = World(
    [row for letters in STARTS for row in _over_skew(letters)],
    [
        ("rises past", put({"scheme": "scan", "exponent": 1.0}, migration=0.9)),
        ("scan migrates most", put({"scheme": "scan", "exponent": 1.0}, migration=1.1)),
        ("scan migrates most", put({"scheme": "redist", "exponent": 1.0}, migration=1.5)),
        ("up to 50 %", put({"scheme": "consistent", "exponent": 1.0}, imbalance=3.0)),
        ("below the line", put({"exponent": 0.1, "scheme": "scan"}, imbalance=1.1)),
        ("exceeded", put({"resources": "LQL", "exponent": (0.4, 0.45, 0.5)}, imbalance=0.9)),
        ("exceeded", put({"resources": "LCL", "exponent": (0.5, 0.7, 0.8)}, imbalance=1.3)),
        ("readj a little above", put({"resources": "LQL", "scheme": "readj"}, imbalance=1.1)),
        ("readj a little above", put({"resources": "LQL", "scheme": "readj"}, imbalance=1.4)),
    ],
)
MOVES = {"readj": 0.1, "redist": 0.0, "scan": 0.2}
FIG5 = World(
    grid(
        {
            "workers": (10,),
            "resources": threshold_and_workers.RESOURCES,
            "sigma": threshold_and_workers.SIGMAS,
            "scheme": PLANNERS,
        },
        imbalance=lambda row: (
            1 + row["sigma"] / 2
            if row["resources"] == "LCL"
            else 4.0
            if row["sigma"] >= 0.5
            else 3.0
        ),
        migration=lambda row: 2 - row["sigma"] + MOVES[row["scheme"]],
    ),
    [
        *(
            (f"{s}: a smaller", change)
            for s in PLANNERS
            for change in (
                put({"scheme": s, "sigma": 0.01}, imbalance=3),
                put({"scheme": s, "sigma": 1.0}, migration=3),
            )
        ),
        ("less than for LCL", put({"resources": "LQL", "sigma": 0.01}, imbalance=2.0)),
        ("imbalance jumps", put({"resources": "LQL", "sigma": (0.5, 1.0)}, imbalance=3.1)),
        ("imbalance jumps", put({"resources": "LQL", "sigma": 0.5}, imbalance=3.0)),
        ("over all σ", put({"scheme": "redist"}, migration=2.5)),
        ("over all σ", put({"resources": "LQL", "scheme": "scan"}, migration=1.0)),
    ],
)
B32 = {"readj": 1.1, "redist": 1.2, "scan": 1.3, "uniform": 2.0, "consistent": 2.2}
M32 = {"readj": 1.5, "redist": 1.15, "scan": 3.2, "uniform": 22.0, "consistent": 1.0}
FIG6 = World(
    put({"scheme": "readj", "workers": tuple(range(21, 33))}, imbalance=1.4)(
        grid(
            {"workers": range(2, 33), "scheme": SCHEMES},
            imbalance=lambda row: B32[row["scheme"]],
            migration=lambda row: M32[row["scheme"]],
        )
    ),
    [
        ("about 22 times", put({"scheme": "uniform"}, migration=31.0)),
        ("flat at about 1.15", put({"scheme": "redist"}, migration=2.0)),
        ("scan is above 3", put({"scheme": "scan"}, migration=1.1)),
        ("imbalance is above 2", put({"scheme": "consistent"}, imbalance=1.5)),
        ("best up to N=20", put({"scheme": "scan"}, imbalance=1.0)),
        ("past N=20", put({"scheme": "readj"}, imbalance=1.1)),
        ("past N=20", put({"scheme": "scan"}, imbalance=1.5)),
        ("scan migrates most", put({"scheme": "scan"}, migration=1.4)),
        ("scan migrates most", put({"scheme": "redist"}, migration=1.6)),
    ],
)
FIG7 = World(
    grid(
        {
            "workers": (10,),
            "scheme": ("readj", "redist"),
            "resources": ("LCL", "LLL", "LQL"),
            "utility": utility_and_domain.UTILITIES,
        },
        imbalance=lambda row: 1.2 if row["utility"] == "apm" else 1.5,
        migration=lambda row: 2.0 if row["utility"] == "a" else 1.2,
    ),
    [
        ("U_A has the worst", put({"utility": "atm"}, migration=3.0)),
        ("U_APM is best", put({"utility": "apm"}, imbalance=2.0)),
    ],
)
FIG8 = World(
    grid(
        {"workers": (10,), "domain": (10_000, 100_000, 1_000_000), "scheme": SCHEMES},
        imbalance=lambda row: 1.3 if row["domain"] == 10_000 else 1.15,
        migration=lambda row: (
            7.0
            if row["scheme"] == "uniform"
            else {10_000: 2.2, 100_000: 1.6}.get(row["domain"], 1.25) + MOVES.get(row["scheme"], 0)
        ),
    ),
    [
        ("6.5–7.5", put({"scheme": "uniform"}, migration=9.0)),
        ("falls from 2.2", put({"domain": 1_000_000, "scheme": PLANNERS}, migration=2.5)),
        ("easier to balance", put({"domain": 1_000_000}, imbalance=2.0)),
        ("scan migrates most", put({"scheme": "scan"}, migration=1.2)),
    ],
)
FIG9 = World(
    grid(
        {"resources": ("LCL", "LLL", "LQL"), "sigma": size.SIGMAS},
        counted=lambda row: (50_000 if row["resources"] == "LQL" else 2_500) * 0.1 / row["sigma"],
        mapped=50,
    ),
    [
        ("about 2,500", times(3, "counted", resources="LCL")),
        ("about 50,000", times(0.2, "counted", resources="LQL")),
        ("about 50 mappings", put({"resources": "LLL"}, mapped=40)),
        ("about 50 mappings", put({}, mapped=500)),
        ("smaller σ counts", put({"sigma": 0.02}, counted=300)),
    ],
)
MAPPED = {
    "LCL": dict(zip(size.EXPONENTS, (0, 0, 2, 6, 25, 50), strict=True)),
    "LQL": dict(zip(size.QUADRATIC_EXPONENTS, (0, 1, 2, 4, 10, 20), strict=True)),
}
COUNTED = dict(zip(size.QUADRATIC_EXPONENTS, (40, 45, 50, 52, 50, 48), strict=True))
FIG10 = World(
    [
        *grid(
            {"resources": ("LCL",), "exponent": size.EXPONENTS},
            counted=2_500,
            mapped=lambda row: MAPPED["LCL"][row["exponent"]],
        ),
        *grid(
            {"resources": ("LQL",), "exponent": size.QUADRATIC_EXPONENTS},
            counted=lambda row: 1_000 * COUNTED[row["exponent"]],
            mapped=lambda row: MAPPED["LQL"][row["exponent"]],
        ),
    ],
    [
        ("hardly changes", put({"exponent": 1.0}, counted=25_000)),
        ("then fall slightly", put({"resources": "LQL", "exponent": 0.1}, counted=60_000)),
        ("then fall slightly", put({"resources": "LQL", "exponent": 0.5}, counted=60_000)),
        ("then fall slightly", put({"resources": "LQL", "exponent": 0.5}, counted=10_000)),
        ("ever faster", put({"resources": "LCL", "exponent": 0.5}, mapped=40)),
        ("ever faster", put({"exponent": 1.0}, mapped=20)),
        ("LQL: the number", put({"resources": "LQL", "exponent": 0.25}, mapped=10)),
        ("LQL: the number", put({"resources": "LQL", "exponent": 0.5}, mapped=10)),
    ],
)
FIG11 = World(
    grid(
        {"workers": size.WORKERS},
        counted=lambda row: 250 * row["workers"],
        mapped=lambda row: 5 * row["workers"],
    ),
    [("grow linearly", put({"workers": 30}, counted=900)), ("grow linearly", put({}, mapped=50))],
)
TIMED = {"readj": 200, "redist": 10, "scan": 1}
FIG12 = World(
    grid(
        {"scheme": PLANNERS, "sigma": construction_time.SIGMAS},
        seconds=lambda row: 0.05 * (TIMED[row["scheme"]] if row["sigma"] == 0.008 else 1),
    ),
    [
        ("200 times as slow", put({"scheme": "readj", "sigma": 0.008}, seconds=1.0)),
        ("200 times as slow", put({"scheme": "readj", "sigma": 0.008}, seconds=200.0)),
        ("redist slows down", put({"scheme": "redist", "sigma": 0.008}, seconds=9.0)),
        ("scan stays flat", put({"scheme": "scan", "sigma": 0.008}, seconds=5.0)),
    ],
)
FIG13 = World(
    grid(
        {"scheme": (*PLANNERS, construction_time.RING), "workers": construction_time.WORKERS},
        seconds=lambda row: 0.001 * TIMED.get(row["scheme"], 1),
    ),
    [
        ("scan is the cheapest", put({"scheme": "scan"}, seconds=5.0)),
        ("about as long as the ring", put({"scheme": construction_time.RING}, seconds=0.01)),
        ("about as long as the ring", put({"scheme": "scan"}, seconds=0.009)),
        ("significantly longer", put({"scheme": "redist"}, seconds=0.001)),
    ],
)
FIG14 = World(
    grid(
        {"scheme": PLANNERS, "exponent": (0.5, 0.7, 0.8, 0.9, 1.0)},
        seconds=lambda row: 0.001 * (TIMED[row["scheme"]] if row["exponent"] == 1.0 else 1),
    ),
    [("rises fastest", put({"scheme": "redist", "exponent": 1.0}, seconds=5.0))],
)

WORLDS = {
    "1": TOY, "3": FIG3, "4": FIG4, "5": FIG5, "6": FIG6, "7": FIG7, "8": FIG8, "9": FIG9,
    "10": FIG10, "11": FIG11, "12": FIG12, "13": FIG13, "14": FIG14,
}  # fmt: skip
