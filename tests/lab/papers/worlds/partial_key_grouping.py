"""Partial Key Grouping's figures as the paper has them."""

from __future__ import annotations

from tests.lab.papers.worlds.making import World, grid, put, times

WORKERS = (5, 10, 50, 100)
SOURCES = (5, 10, 15, 20)

TABLE1 = World(
    [
        {"stream": "LN1", "messages": 10**7, "keys": 16_000, "top_percent": 14.71},
        {"stream": "LN2", "messages": 10**7, "keys": 1_100, "top_percent": 7.01},
    ],
    [
        ("LN1 has", put({"stream": "LN1"}, keys=20_000)),
        ("LN2 has", put({"stream": "LN2"}, top_percent=8.0)),
    ],
)
SLASHDOT = World(
    [{"stream": "s", "messages": 948_464, "keys": 82_168, "top_percent": 3.11}],
    [
        ("Slashdot0902 has", put({}, top_percent=0.27)),
        ("Slashdot0902 has", put({}, keys=60_000)),
    ],
)
TABLE = {
    "WP-like": {
        "PKG": (3.7e-8, 1.3e-7, 2.7e-2, 3.7e-2),
        "Off-Greedy": (3.7e-8, 4.1e-8, 7.4e-2, 8.3e-2),
        "On-Greedy": (3.6e-7, 6.4e-3, 7.4e-2, 8.3e-2),
        "PoTC": (7.3e-7, 7.8e-3, 7.4e-2, 8.3e-2),
        "Hashing": (6.4e-2, 7.8e-2, 9.2e-2, 9.2e-2),
    },
    "TW-like": {
        "PKG": (3.4e-10, 1.4e-9, 2.3e-9, 3.4e-3),
        "Off-Greedy": (3.4e-10, 6e-10, 6.7e-3, 1.7e-2),
        "On-Greedy": (7.2e-9, 7.9e-8, 1.0e-2, 1.7e-2),
        "PoTC": (1.9e-5, 4.3e-6, 1.2e-2, 1.7e-2),
        "Hashing": (3.5e-2, 3.2e-2, 2.0e-2, 2.8e-2),
    },
}
ROWS = {"WP-like": 22_000_000, "TW-like": 1_200_000_000}
TABLE2 = World(
    grid(
        {"stream": tuple(TABLE), "workers": WORKERS, "scheme": tuple(TABLE["WP-like"])},
        imbalance=lambda row: TABLE[row["stream"]][row["scheme"]][WORKERS.index(row["workers"])],
        messages=lambda row: ROWS[row["stream"]],
    ),
    [
        ("PKG is the most level", put({"scheme": "PKG", "workers": 50}, imbalance=0.08)),
        ("hashing is the least", put({"scheme": "Hashing", "workers": 5}, imbalance=1e-8)),
        ("hashing is the least", put({"scheme": "PoTC", "workers": 10}, imbalance=0.1)),
        ("very close to Off-Greedy", put({"scheme": "On-Greedy", "workers": 10}, imbalance=0.05)),
        ("not from there on", put({"scheme": "PKG", "workers": 100}, imbalance=1e-6)),
        ("WP-like: PKG is level", put({"scheme": "PKG", "workers": 10}, imbalance=0.01)),
        ("WP-like: PKG is level", put({"scheme": "PKG", "workers": 50}, imbalance=1e-5)),
        ("outclassed by On-Greedy", put({"scheme": "PoTC"}, imbalance=1e-10)),
        ("outclassed by On-Greedy", put({"scheme": "PoTC", "workers": 5}, imbalance=7.3e-9)),
    ],
)
SECTION5 = World(
    [
        *grid({"part": ("upper",), "scheme": ("d=1",), "workers": (10, 100, 1000)},
              above_mean=lambda row: 0.5 + row["workers"] / 500, unused=0.0),
        *grid({"part": ("upper",), "scheme": ("d=2",), "workers": (10, 100, 1000)},
              above_mean=0.1, unused=0.0),
        {"part": "n keys", "scheme": "d=2", "workers": 1000, "above_mean": 0.4, "unused": 0.135},
        *grid({"part": ("lower",), "workers": (10, 100)}, bound=0.05, imbalance=0.06),
        *grid({"part": ("√m",), "messages": (10_000, 100_000, 1_000_000)}, of_root=0.2),
    ],
    [
        ("at least (p₁/2", put({"part": "lower", "workers": 10}, imbalance=0.049)),
        ("O(m/n)", put({"part": "upper", "scheme": "d=2", "workers": 1000}, above_mean=5)),
        ("O(m/n)", put({"part": "upper", "scheme": "d=1"}, above_mean=0.5)),
        ("unused", put({"part": "n keys"}, unused=0.3)),
        ("unused", put({"part": "n keys"}, above_mean=0.1)),
        ("Ω(√m)", put({"part": "√m", "messages": 1_000_000}, of_root=0.02)),
    ],
)  # fmt: skip
STREAMS = ("WP-like", "TW-like", "LN1", "LN2")
LEVELS = {"H": 0.05, "G": 1e-6, **{f"L{s}": 1e-6 + 2e-7 * s for s in SOURCES}}
FIG4 = World(
    grid(
        {"stream": STREAMS, "workers": WORKERS, "scheme": tuple(LEVELS)},
        imbalance_average=lambda row: LEVELS[row["scheme"]],
        messages=10_000_000,
    ),
    [
        ("one order of magnitude", times(20, "imbalance_average", scheme="L20", workers=10)),
        ("one order of magnitude", put({"scheme": "H"}, imbalance_average=1e-7)),
        ("number of sources", times(90, "imbalance_average", scheme="L20", workers=5)),
    ],
)
PROBED = {"G": 1e-6, "L5": 2e-6, "L5P1": 2.1e-6}
SHARES = tuple(number / 20 for number in range(1, 21))
FIG5 = World(
    grid(
        {"stream": STREAMS[:2], "workers": WORKERS, "scheme": tuple(PROBED), "share": SHARES},
        imbalance=lambda row: PROBED[row["scheme"]],
    ),
    [("does not help", times(0.01, "imbalance", scheme="L5P1", workers=10))],
)
DRIFT = World(
    grid({"stream": ("CT-like",), "workers": (5, 10), "share": SHARES}, imbalance=1e-5),
    [
        ("popularity drifts", put({"workers": 10}, imbalance=0.005)),
        ("popularity drifts", put({"share": 0.5}, imbalance=0.1)),
    ],
)
SKEWS = tuple(round(0.2 * n, 1) for n in range(1, 7))
FIG6 = World(
    [
        *grid(
            {"stream": ("ZF",), "scheme": ("S=5", "S=100"), "z": SKEWS},
            disagreement=lambda row: 50 - 10 * row["z"], jaccard=0.5, above_mean=1e-4,
        ),
        *grid({"stream": ("WP",), "workers": (5, 10)}, jaccard=0.47),
    ],
    [
        ("differ from the oracle", put({"z": 1.2}, disagreement=60)),
        ("differ from the oracle", times(0.1, "disagreement", stream="ZF")),
        ("differ from the oracle", put({"stream": "ZF"}, disagreement=50)),
        ("level nevertheless", put({"z": 1.0}, above_mean=0.3)),
        ("overlap by 47", put({"stream": "WP"}, jaccard=0.9)),
    ],
)  # fmt: skip
FIG8 = World(
    grid(
        {
            "stream": ("LJ-like",),
            "workers": WORKERS,
            "sources": SOURCES,
            "split": ("uniform", "skewed"),
        },
        imbalance=lambda row: 1e-6 if row["split"] == "uniform" else 1.3e-6,
    ),
    [
        ("fed by key", times(900, "imbalance", split="skewed")),
        ("fed by key", times(5, "imbalance", split="skewed", workers=50)),
        ("fed by key", put({}, imbalance=1.3e-2)),
    ],
)
TENTHS = tuple(round(0.1 * n, 1) for n in range(5, 18))
FIG7 = World(
    grid(
        {"stream": ("1,000 keys", "10,000 keys"), "workers": WORKERS, "z": TENTHS},
        imbalance=lambda row: 1e-6 if row["z"] < 1.2 else 0.05,
    ),
    [
        (f"with {n} workers", put({"workers": n, "stream": "1,000 keys"}, imbalance=0.05))
        for n in WORKERS
    ]
    + [("about 1.2", put({"workers": 100}, imbalance=lambda r: 1e-6 if r["z"] < 0.8 else 0.1))],
)
CHOICES = (2, 3, 4, 5, 7, 9, 12, 16, 24, 32)
NEEDED = {5: 4, 10: 5, 40: 9, 50: 24, 100: 32}
FIG9 = World(
    [
        *(
            {
                "workers": n,
                "scheme": f"{n} workers",
                "choices": d,
                "imbalance": 1e-6 if d >= NEEDED[n] else 0.08,
            }
            for n in NEEDED
            for d in CHOICES
            if d <= n
        ),
        *(
            {"workers": n, "scheme": f"{n} workers, distinct", "choices": d, "imbalance": 1e-6}
            for n, d in ((5, 4), (40, 9))
        ),
    ],
    [
        ("4 choices are enough", put({"scheme": "5 workers", "choices": 4}, imbalance=0.05)),
        ("5 workers 2 choices", put({"scheme": "5 workers", "choices": 2}, imbalance=1e-6)),
        ("9 choices are enough", put({"scheme": "40 workers", "choices": 9}, imbalance=0.05)),
        ("40 workers 2 choices", put({"scheme": "40 workers", "choices": 2}, imbalance=1e-6)),
        ("a few tens", put({"workers": (50, 100), "choices": (3, 9)}, imbalance=1e-6)),
        ("a few tens", put({"workers": 100, "choices": 32}, imbalance=0.05)),
        ("distinct choices 4 and 9", put({"scheme": "40 workers, distinct"}, imbalance=0.05)),
    ],
)

WORLDS = {
    "table-1": TABLE1, "table-1-slashdot": SLASHDOT, "table-2": TABLE2, "section-5": SECTION5,
    "4": FIG4, "5": FIG5, "5-drift": DRIFT, "6": FIG6, "8": FIG8, "7": FIG7, "9": FIG9,
}  # fmt: skip
