"""What became of results whose executors were killed, kept for docs/reliability.md.

UNSKEW_KILL_REPORT=docs/results/kills.json pytest -m long tests/spark/test_kept_results.py
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

Outcomes = defaultdict[str, Counter[str]]


@pytest.fixture(scope="module")
def outcomes() -> Iterator[Outcomes]:
    """How often each outcome was seen, by what was tried; written down if the variable is set."""
    found: Outcomes = defaultdict(Counter)
    yield found
    wanted = os.environ.get("UNSKEW_KILL_REPORT")
    if wanted:
        path = Path(wanted)
        kept = json.loads(path.read_text()) if path.exists() else {}
        kept |= {name: dict(counts) for name, counts in found.items()}
        path.write_text(json.dumps(kept, indent=1, sort_keys=True) + "\n")
