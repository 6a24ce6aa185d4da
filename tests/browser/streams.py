"""Files of records such as a stream leaves them."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path

from tests.hostile import HOSTILE


def record(batch: int, workers: int = 16, hottest: list[list[object]] | None = None) -> dict:
    """A batch of a stream that is skewed every hundred batches, and then balanced again."""
    draw = random.Random(batch)
    phase = batch % 100
    skew = 0.9 * math.exp(-phase / 12) if batch >= 100 else 0.4
    rows = 40_000 + int(6000 * math.sin(batch / 300)) + draw.randrange(2000)
    loads = [rows / workers * (1 + draw.uniform(-0.04, 0.04)) for _ in range(workers)]
    loads[batch // 100 % workers] *= 1 + skew
    moved = draw.randrange(20, 200) if phase in (1, 2, 4, 8) and batch >= 100 else 0
    total = sum(loads)
    keys = hottest or [
        [f"user-{(batch // 100 * 7 + n) % 97}", total * 0.11 / (n + 1)] for n in range(10)
    ]
    return {
        "batch": batch,
        "rows": rows,
        "seconds": 1.2 + skew + draw.uniform(0, 0.15),
        "workers": workers,
        "loads": loads,
        "max_over_mean": max(loads) * workers / total,
        "cost": total,
        "replicas": 9000 + draw.randrange(200),
        "table_size": min(3000, 25 * (batch // 10)),
        "migrated_keys": moved,
        "migrated_bytes": moved * 1200,
        "rebalance_seconds": 0.05 + (0.2 if moved else 0),
        "hottest": keys,
        "ended": 1_790_000_000 + 1.5 * batch,
    }


def write(folder: Path, first: int, last: int, **figures: object) -> Path:
    """Append the batches from `first` to before `last`."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "batches.jsonl"
    with path.open("a") as file:
        for batch in range(first, last):
            file.write(json.dumps({**record(batch), **figures}) + "\n")
    return path


HOSTILE_KEYS = [[key, 5000.0 - place] for place, key in enumerate(HOSTILE.values())]
