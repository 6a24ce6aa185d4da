"""What a run found: counts by attack, and a script for each kind of failure."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Any

from tests.fuzz.cases import CLASSES, HELPERS, IMPORTS, Case
from tests.fuzz.running import FAILURES, VERDICTS, Outcome

_SCRIPT = """\
{imports}

spark = SparkSession.builder.master("local[2]").getOrCreate()
spark.conf.set("spark.sql.shuffle.partitions", 3)
spark.conf.set("spark.sql.session.timeZone", "UTC")
spark.conf.set("spark.sql.timeType.enabled", True)
{settings}
{helpers}
{tables}
{prelude}
{follow}

plain = {plain}
ours = {ours}
print(plain.schema.simpleString(), ours.schema.simpleString(), sep="\\n")
follow(plain).show(60, False)
follow(ours).show(60, False)
"""


def script(case: Case) -> str:
    """A program that shows the failure, with nothing but pyspark and unskew."""
    settings = [f"spark.conf.set({name!r}, {value!r})" for name, value in case.settings]
    tables, follow = case.tables(), case.follow
    needed = [
        helper + "\n"
        for helper in HELPERS.strip().split("\n\n")
        if helper.strip().split("(")[0].removeprefix("def ").strip() in tables + follow + case.plain
    ]
    prelude = case.prelude if "reference" not in case.prelude or "reference" in case.plain else ""
    return _SCRIPT.format(
        imports=IMPORTS.strip(),
        settings="\n".join(settings),
        helpers="\n".join(needed),
        tables=tables,
        prelude=prelude,
        follow=follow,
        plain=case.plain,
        ours=case.ours,
    )


@dataclass
class Report:
    """Counts, and the failures by cause."""

    seed: int
    cases: int = 0
    seconds: float = 0
    totals: Counter[str] = field(default_factory=Counter)
    traits: dict[tuple[str, str], Counter[str]] = field(
        default_factory=lambda: defaultdict(Counter)
    )
    classes: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    refused: Counter[str] = field(default_factory=Counter)
    both: Counter[str] = field(default_factory=Counter)
    """Why jobs fail in plain Spark too."""
    failures: dict[tuple[str, str, str], list[int]] = field(
        default_factory=lambda: defaultdict(list)
    )
    scripts: dict[tuple[str, str, str], tuple[str, str]] = field(default_factory=dict)

    def add(self, case: Case, outcome: Outcome) -> bool:
        """Count a case; says whether its failure is of a new kind."""
        self.cases += 1
        self.totals[outcome.verdict] += 1
        for kind in {kind for kind, _ in case.traits}:
            self.classes[kind][outcome.verdict] += 1
        for trait in case.traits:
            self.traits[trait][outcome.verdict] += 1
        if outcome.verdict == "refused":
            self.refused[outcome.cause] += 1
        if outcome.verdict == "both fail":
            self.both[outcome.cause] += 1
        if not outcome.failed:
            return False
        key = (outcome.verdict, outcome.cause, case.way)
        self.failures[key].append(case.number)
        return len(self.failures[key]) == 1

    @classmethod
    def from_json(cls, text: str) -> Report:
        """A report to go on with."""
        content = json.loads(text)
        made = cls(content["seed"], content["cases"], content["seconds"])
        made.totals = _tallied(content["all"])
        for kind, counts in content["attacks"].items():
            made.classes[kind] = _tallied(counts)
        for kind, names in content["details"].items():
            made.traits |= {(kind, name): _tallied(counts) for name, counts in names.items()}
        made.refused, made.both = Counter(content["refused"]), Counter(content["both fail"])
        for each in content["failures"]:
            key = each["verdict"], each["cause"], each["way"]
            made.failures[key] = each["cases"]
            made.scripts[key] = each["detail"], each["script"]
        return made

    @property
    def failed(self) -> int:
        return sum(self.totals[verdict] for verdict in FAILURES)

    def table(self) -> str:
        """A line for each attack."""
        heads = ["attack", "tried", *VERDICTS]
        lines = [[kind, *_counts(self.classes[kind])] for kind in CLASSES]
        lines.append(["all", *_counts(self.totals)])
        rows = [" | ".join(f"{cell!s:>10}" for cell in line) for line in [heads, *lines]]
        return "\n".join(rows)

    def listing(self) -> str:
        """A line for each kind of failure, with the numbers of its cases."""
        ranked = sorted(self.failures.items(), key=lambda pair: (pair[0][0], -len(pair[1])))
        return "\n".join(
            f"{verdict}: {way}: {cause}: {len(numbers)} cases, e.g. {numbers[:6]}"
            for (verdict, cause, way), numbers in ranked
        )

    def to_json(self) -> str:
        """Everything."""
        content: dict[str, Any] = {
            "seed": self.seed,
            "cases": self.cases,
            "seconds": round(self.seconds, 1),
            "attacks": {kind: _counted(self.classes[kind]) for kind in CLASSES},
            "all": _counted(self.totals),
            "details": {
                kind: {
                    name: _counted(counts)
                    for (of, name), counts in sorted(self.traits.items())
                    if of == kind
                }
                for kind in CLASSES
            },
            "refused": dict(self.refused.most_common()),
            "both fail": dict(self.both.most_common()),
            "failures": [
                {
                    "verdict": verdict,
                    "cause": cause,
                    "way": way,
                    "cases": numbers,
                    "detail": self.scripts.get((verdict, cause, way), ("", ""))[0],
                    "script": self.scripts.get((verdict, cause, way), ("", ""))[1],
                }
                for (verdict, cause, way), numbers in self.failures.items()
            ],
        }
        return json.dumps(content, indent=1, ensure_ascii=True)


def _tallied(counts: dict[str, int]) -> Counter[str]:
    return Counter({verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]})


def _counted(counts: Counter[str]) -> dict[str, int]:
    return {"tried": counts.total(), **{verdict: counts[verdict] for verdict in VERDICTS}}


def _counts(counts: Counter[str]) -> list[int]:
    return list(_counted(counts).values())
