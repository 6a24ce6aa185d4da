"""Sections of the report, one for each kind of result: outcome, tables and pictures."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from unskew.report.results.markup import (
    Html,
    bar,
    code,
    figure,
    key,
    paragraph,
    percent,
    strong,
    table,
    text,
    verdict,
)


class Section(NamedTuple):
    """A section of the page."""

    title: str
    outcome: Html
    """In a line."""
    body: Html


def diagnose(found: Any, _: Path) -> Section:
    """The skew of a key."""
    advice, top, schemes = found["recommendation"], found["top"], found["schemes"]
    name = ", ".join(map(str, found.get("key", ["key"])))
    widest = max((each["share"] for each in top), default=1.0) or 1.0
    keys = (
        (
            key(each["key"]),
            figure(each["rows"]),
            percent(each["share"]),
            bar(each["share"] / widest),
        )
        for each in top
    )
    body = [
        paragraph(f"{found['rows']:,} rows, about {found['keys']:,} keys, "
                  f"{found.get('nulls', 0):,} rows with a null key, "
                  f"Zipf slope {found.get('slope', 0):.2f}."),
        paragraph(code(advice["code"])) if "code" in advice else "",
        paragraph("Whole keys: ", advice["whole_key"]) if "whole_key" in advice else "",
        _heading("Heaviest keys"),
        table(("key", "rows", "share", ""), keys),
        _heading(f"Forecast for {found.get('workers', '?')} workers"),
        _schemes(schemes, advice["scheme"]),
        *(paragraph(f"Spark: {line}", name="soft") for line in found.get("spark", ())),
    ]  # fmt: skip
    outcome = Html(f"{strong(advice['scheme'])}: {text(advice['why'])}")
    return Section(f"Skew of {name}", outcome, Html("".join(body)))


def compare(found: Any, _: Path) -> Section:
    """Schemes side by side."""
    advice = found["recommendation"]
    return Section(
        f"Schemes for {found['need']} work",
        text(advice["why"]),
        _schemes(found["schemes"], advice["scheme"]),
    )


def demo(found: Any, _: Path) -> Section:
    """The same job, plain and with unskew."""
    runs = found["runs"]
    longest = max(run["seconds"] for run in runs)
    first, ours = runs[0]["seconds"], runs[-1]["seconds"]
    rows: list[tuple[Any, ...]] = [
        (
            text(run["name"]),
            f"{run['seconds']:.1f} s",
            f"{first / run['seconds']:.1f} ×",
            verdict(run["same_result"], "same rows", "other rows"),
            bar(run["seconds"] / longest, "ours" if run["name"] == "unskew" else "other"),
        )
        for run in runs
    ]
    rows.append(
        (
            text("spread perfectly"),
            f"{found['ideal']:.1f} s",
            "",
            "",
            bar(found["ideal"] / longest, "goal"),
        )
    )
    return Section(
        f"Demo on {found['rows']:,} rows, {found['slots']} slots",
        Html(f"{strong(f'{first / ours:.1f} times')} as fast as {text(runs[0]['name'])}"),
        table(("job", "time", "speed-up", "result", ""), rows),
    )


def claims(found: Any, path: Path, name: str = "Claims of a paper") -> Section:
    """What a paper says, and what was measured."""
    held = sum(bool(row["holds"]) for row in found)
    rows = (
        (
            text(row["figure"]),
            text(row["claim"]),
            text(row["paper"]),
            text(row["ours"]),
            Html(
                verdict(row["holds"])
                + (f"<br>{text(row['why'])}" if row.get("why") and not row["holds"] else "")
            ),
        )
        for row in found
    )
    body = table(("figure", "claim", "paper", "ours", "holds"), rows, left=5)
    pictures = "".join(_pictures(path.parent, dict.fromkeys(str(row["figure"]) for row in found)))
    return Section(
        name, Html(f"{strong(f'{held} of {len(found)}')} claims hold"), Html(body + pictures)
    )


def reproduce(found: Any, path: Path) -> Section:
    """A whole paper."""
    quick = ", smaller streams" if found.get("quick") else ""
    return claims(found["claims"], path, f"Paper {found['paper']}{quick}")


def bench(found: Any, _: Path) -> Section:
    """Speeds, as ratios to a yardstick of the same run."""
    judged = [row for row in found if row.get("met") is not None]
    met = sum(bool(row["met"]) for row in judged)
    rows = (
        (
            text(row["name"]),
            text(row["against"]),
            figure(row["seconds"]),
            f"{row['ratio']:.2f} ×",
            "" if row.get("target") is None else f"≤ {row['target']:g}",
            verdict(row.get("met")),
        )
        for row in found
    )
    heads = ("what", "against", "seconds", "ratio", "target", "met")
    outcome = (
        Html(f"{strong(f'{met} of {len(judged)}')} targets are met")
        if judged
        else text("no targets")
    )
    return Section("Speed", outcome, table(heads, rows, left=2))


def run(found: Any, _: Path) -> Section:
    """An application, by several schemes."""
    rows = (
        (
            text(each["scheme"]),
            figure(each["seconds"]),
            figure(each["max_over_mean"]),
            figure(each["replicas"]),
            verdict(each["matches_reference"], "right", "wrong"),
        )
        for each in found
    )
    quickest = min(range(len(found)), key=lambda place: found[place]["seconds"])
    heads = ("scheme", "seconds", "max/mean", "replicas", "result")
    outcome = Html(
        f"quickest by {strong(found[quickest]['scheme'])}: {found[quickest]['seconds']:.1f} s"
    )
    return Section(f"Application {found[0]['app']}", outcome, table(heads, rows, best=quickest))


def simulate(found: Any, _: Path) -> Section:
    """One scheme on one stream."""
    outcome = Html(f"{strong(found['scheme'])}: max/mean {figure(found['max_over_mean'])}")
    title = f"{found['scheme']} on {found['messages']:,} rows, {found['workers']} workers"
    return Section(title, outcome, _figures(found))


def rebalance(found: Any, _: Path) -> Section:
    """A routing table."""
    outcome = Html(
        f"{strong(found['algorithm'])}: max/mean {figure(found.get('max_over_mean_before'))} → "
        f"{figure(found['max_over_mean'])}, {figure(found['migrated_keys'])} keys move"
    )
    return Section(f"Table for {found['workers']} workers", outcome, _figures(found))


SECTIONS: dict[str, Callable[[Any, Path], Section]] = {
    "diagnose": diagnose,
    "compare": compare,
    "demo": demo,
    "reproduce": reproduce,
    "claims": claims,
    "bench": bench,
    "run": run,
    "simulate": simulate,
    "rebalance": rebalance,
}


def _heading(words: str) -> Html:
    return Html(f"<h3>{text(words)}</h3>")


_COLUMNS = {
    "need": "guarantee",
    "latency_p99": "p99, s",
    "latency_mean": "mean, s",
    "max_over_mean": "max/mean",
    "replication": "workers per key",
    "replicas": "replicas",
}


def _schemes(schemes: Any, best: str) -> Html:
    """A row for each scheme, with a bar for how far the busiest worker is above the mean."""
    shown = [name for name in _COLUMNS if all(name in each for each in schemes)]
    longest = max((each["max_over_mean"] for each in schemes), default=1.0)
    rows = [
        (
            text(each["scheme"]),
            *(figure(each[name]) for name in shown),
            bar(each["max_over_mean"] / longest, "ours" if each["scheme"] == best else "other"),
        )
        for each in schemes
    ]
    place = next((at for at, each in enumerate(schemes) if each["scheme"] == best), None)
    return table(("scheme", *(_COLUMNS[name] for name in shown), ""), rows, best=place)


def _figures(found: Mapping[str, Any]) -> Html:
    plain = (
        (name, figure(value)) for name, value in found.items() if not isinstance(value, list | dict)
    )
    return table(("measure", "value"), plain)


def _pictures(folder: Path, names: Mapping[str, None]) -> list[str]:
    """The pictures beside the claims, inside the page."""
    found = ((name, folder / f"figure-{Path(name).name}.png") for name in names)
    return [
        f'<details><summary>Figure {text(name)}</summary><img alt="Figure {text(name)}, drawn from '
        f'our measurements" src="data:image/png;base64,{_encoded(path)}"></details>'
        for name, path in found
        if path.is_file()
    ]


def _encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
