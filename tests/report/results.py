"""A folder with a result of every kind, some of them hostile."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from tests.hostile import HOSTILE

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)


def schemes() -> list[dict[str, Any]]:
    names = (
        ("kg", 3.42, 1.0),
        ("pkg", 1.71, 1.3),
        ("w-choices", 1.02, 1.4),
        ("planned-split", 1.001, 1.02),
    )
    return [
        {
            "scheme": name,
            "need": "mergeable",
            "max_over_mean": load,
            "replication": copies,
            "replicas": int(copies * 9000),
            "native": name in ("kg", "planned-split"),
        }
        for name, load, copies in names
    ]


def claims() -> list[dict[str, Any]]:
    return [
        {
            "figure": "4",
            "claim": "two choices balance as long as p₁ < 2/W",
            "paper": "imbalance < 1 %",
            "ours": "0.3 %",
            "holds": True,
            "why": "",
        },
        {
            "figure": "7",
            "claim": HOSTILE["script"],
            "paper": "faster by 60 %",
            "ours": "faster by 31 %",
            "holds": False,
            "why": "our machines have two cores",
        },
    ]


def documents() -> dict[str, Any]:
    top = [
        {"key": key, "rows": 9000 - 300 * n, "share": (9000 - 300 * n) / 100_000}
        for n, key in enumerate(["user-17", "user-4", *HOSTILE.values()])
    ]
    advice = {
        "scheme": "planned-split",
        "why": "the busiest worker would have 3.4 times its share",
        "code": 'unskew.groupBy(df, "user", workers=64).agg(...)',
        "whole_key": "one key has 9.0% of the rows: no scheme can split it",
    }
    return {
        "diagnose.json": {
            "key": ["user"],
            "workers": 64,
            "rows": 100_000,
            "keys": 9000,
            "nulls": 12,
            "slope": 1.1,
            "top": top,
            "schemes": schemes(),
            "spark": ["AQE splits no group of an aggregate"],
            "recommendation": advice,
            "statistics": "counting",
        },
        "compare.json": {
            "need": "mergeable",
            "schemes": schemes(),
            "recommendation": {"scheme": "planned-split", "why": "Take planned-split: max/mean 1."},
        },
        "demo/demo.json": {
            "data": "clicks",
            "rows": 120_000,
            "slots": 4,
            "ideal": 6.0,
            "runs": [
                {"name": "plain Spark", "seconds": 19.2, "same_result": True},
                {"name": "AQE", "seconds": 17.8, "same_result": True},
                {"name": "unskew", "seconds": 7.1, "same_result": True},
            ],
        },
        "paper/result.json": {"paper": "partial-key-grouping", "quick": True, "claims": claims()},
        "paper/claims.json": claims(),
        "more/claims-7.json": claims(),
        "bench.json": [
            {
                "name": "route 1e6 keys by pkg",
                "seconds": 0.012,
                "ratio": 0.41,
                "against": "numpy",
                "target": 1.0,
                "met": True,
            },
            {
                "name": "spark overhead",
                "seconds": 3.1,
                "ratio": 1.3,
                "against": "plain",
                "target": 1.1,
                "met": False,
            },
            {
                "name": "no target",
                "seconds": 3.1,
                "ratio": 1.3,
                "against": "plain",
                "target": None,
                "met": None,
            },
        ],
        "run.json": [
            {
                "app": "wordcount",
                "scheme": name,
                "seconds": 2.0 + n,
                "max_over_mean": 1.1,
                "replicas": 900,
                "rows": 5000,
                "matches_reference": name != "kg",
            }
            for n, name in enumerate(("pkg", "kg"))
        ],
        "simulate.json": {
            "scheme": "pkg",
            "workers": 50,
            "messages": 1_000_000,
            "max_over_mean": 1.2,
            "seconds": 0.2,
        },
        "rebalance.json": {
            "algorithm": "mixed",
            "workers": 15,
            "max_over_mean_before": 1.9,
            "max_over_mean": 1.04,
            "migrated_keys": 120,
            "remarks": [],
        },
        "notes.json": {"anything": "else"},
    }


def write_results(folder: Path) -> None:
    for name, document in documents().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document))
    (folder / "paper" / "figure-4.png").write_bytes(PIXEL)
    (folder / "paper" / "cells").mkdir()
    (folder / "paper" / "cells" / "1.json").write_text("{}")
    (folder / "broken.json").write_text("{")
    (folder / "bad-values.json").write_text(
        json.dumps({"rows": "x", "keys": None, "top": 1, "schemes": 2, "recommendation": 3})
    )
