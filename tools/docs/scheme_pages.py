"""A page per scheme: what, when, when not, cost, paper, and what was measured.

The figures come from docs/results/schemes.json; `python tools/docs/scheme_pages.py` measures
them again.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from pathlib import Path
from typing import Any

from docstrings import one_line, promise_of, sections

from unskew.partitioners import ALL
from unskew.partitioners.serialization import build
from unskew.simulator.counting import count
from unskew.sketches.key_counts import KeyCounts
from unskew.workloads import ZipfStream

_PAPERS = ("consistent-grouping", "partial-key-grouping", "posg")
_NAMES = {
    "kg": r"\bKG\b",
    "sg": r"\bSG\b",
    "pkg": r"\bPKG\b",
    "porc": r"\bPoRC\b",
    "ch": r"\bCH\b",
    "cg": r"\bCG\b",
    "two-random-choices": r"\bPoTC\b",
    "posg": r"\bPOSG\b",
    "full-knowledge": r"\bfull knowledge\b",
}
"""What the papers call a scheme, as far as their claims name it."""
_SHOWN = 5

RESULTS = Path(__file__).parents[2] / "docs" / "results" / "schemes.json"
SKEWS = (0.8, 1.2, 1.6)
KEYS, ROWS, WORKERS, SOURCES = 10_000, 200_000, 50, 5


def measured(scheme: str, skew: float) -> dict[str, float]:
    """Balance and replicas of one scheme on one stream; the same on every machine."""
    stream = ZipfStream(skew, KEYS, ROWS)
    partitioner: Any = build(scheme, WORKERS)
    if any(field.name == "counts" for field in dataclasses.fields(partitioner)):
        partitioner = dataclasses.replace(partitioner, counts=KeyCounts.of(stream.chunks()))
    found = count(partitioner, stream, SOURCES, "turn", lambda rows: None).as_dict()
    return {
        "max_over_mean": round(float(found["max_over_mean"]), 3),
        "replication": round(float(found["replication"]), 3),
    }


def scheme_figures() -> str:
    """All schemes on one skewed stream, best balance first."""
    results = json.loads(RESULTS.read_text())
    lines = ["| scheme | keeps | max/mean | workers per key |", "|---|---|---|---|"]
    for name in sorted(ALL, key=lambda name: results[name]["1.2"]["max_over_mean"]):
        row = results[name]["1.2"]
        lines.append(
            f"| [`{name}`](schemes/{name}.md) | {promise_of(ALL[name])} "
            f"| {row['max_over_mean']:.3f} | {row['replication']:.2f} |"
        )
    return "\n".join(lines)


def scheme_documents() -> dict[str, str]:
    """The page of each scheme."""
    results = json.loads(RESULTS.read_text())
    return {name: _page(name, kind, results[name]) for name, kind in ALL.items()}


def _page(name: str, kind: type[Any], figures: dict[str, dict[str, float]]) -> str:
    parts = sections(kind)
    when, dot, unless = one_line(parts["When"]).partition(". Not ")
    what = "\n\n".join(one_line(paragraph) for paragraph in parts["what"].split("\n\n"))
    rows = "\n".join(
        f"| {skew} | {row['max_over_mean']:.3f} | {row['replication']:.2f} |"
        for skew, row in figures.items()
    )
    return f"""<!-- Written by tools/docs/scheme_pages.py from the docstring of {kind.__name__}. -->

# {kind.__name__} (`{name}`)

{what}

- **Keeps**: {promise_of(kind)}
- **When**: {when}{"." if dot else ""}
- **When not**: {_capital(unless) if unless else "see above."}
- **Cost**: {one_line(parts["Cost"])}
- **Paper**: {one_line(parts["Paper"])}

## Measured

{ROWS:,} rows of {KEYS:,} keys with Zipf frequencies, {WORKERS} workers, {SOURCES} sources.
`max/mean` is the load of the fullest worker over the mean (1 is perfect), `workers per key` is the
memory: on how many workers a key is found, on average.

| skew | max/mean | workers per key |
|---|---|---|
{rows}

```console
$ {_command(name)}
```

{_claims(name)}## In Python

```pycon
{_example(kind)}
```

[All schemes](../schemes.md) · [API](../reference/core.md)
"""


def _claims(name: str) -> str:
    """The first claims of the papers that name the scheme, as we found them."""
    if name not in _NAMES:
        return ""
    rows = []
    for paper in _PAPERS:
        for claim in json.loads((RESULTS.parent / f"{paper}.json").read_text())["claims"]:
            if re.search(_NAMES[name], claim["claim"]):
                holds = "yes" if claim["holds"] else "**no**"
                rows.append(f"| {claim['claim']} | {claim['paper']} | {claim['ours']} | {holds} |")
    table = "\n".join(rows[:_SHOWN])
    return f"""## In the papers

| claim | paper | ours | holds |
|---|---|---|---|
{table}

[All claims](../papers.md), and why some do not hold.

"""


def _command(name: str) -> str:
    stream = f"--zipf 1.2 --keys {KEYS} --messages {ROWS}"
    return f"unskew simulate {stream} --sources {SOURCES} --workers {WORKERS} --scheme {name}"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _example(kind: type[Any]) -> str:
    """The example of the docstring, which the tests run as a doctest."""
    _, start, example = (inspect.getdoc(kind) or "").partition(">>> ")
    return start + example.strip()


if __name__ == "__main__":
    RESULTS.write_text(
        json.dumps({name: {str(z): measured(name, z) for z in SKEWS} for name in ALL}, indent=1)
        + "\n"
    )
