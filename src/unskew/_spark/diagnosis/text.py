"""Diagnoses as tables on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table

from unskew.display import printable

if TYPE_CHECKING:
    from unskew._spark.diagnosis.keys import Diagnosis
    from unskew._spark.diagnosis.state import StateDiagnosis, StoreSkew

STATE_HEADS = ("operator", "store", "state", "partitions", "max/mean", "fullest partitions")


def print_diagnosis(diagnosis: Diagnosis) -> None:
    """Print the figures, the heaviest keys, the forecasts and the advice."""
    console = Console()
    nulls = f", {diagnosis.nulls:,} with a null" if diagnosis.nulls else ""
    console.print(
        f"[bold]{escape(printable(', '.join(diagnosis.key)))}[/]: {diagnosis.rows:,} rows{nulls}, "
        f"about {diagnosis.keys:,} keys, Zipf slope {diagnosis.slope:.2f}"
    )
    console.print(_keys(diagnosis))
    console.print(_schemes(diagnosis))
    for line in diagnosis.spark:
        console.print(f"· {escape(line)}", highlight=False)
    advice = diagnosis.recommendation
    console.print(f"\n[bold]{advice.scheme}[/]: {escape(advice.why)}", highlight=False)
    console.print(f"  {escape(advice.code)}", highlight=False)
    console.print(f"whole keys: {escape(advice.whole_key)}", highlight=False)


def _keys(diagnosis: Diagnosis) -> Table:
    table = Table("heaviest key", *_numbers("rows", "share"))
    for key in diagnosis.top[:10]:
        table.add_row(escape(printable(key.key, 44)), f"{key.rows:,}", f"{key.share:.2%}")
    return table


def _schemes(diagnosis: Diagnosis) -> Table:
    numbers = _numbers("max/mean", "replicas")
    table = Table("scheme", "guarantee", *numbers, "executes", title="Forecast")
    for each in diagnosis.schemes:
        table.add_row(
            each.scheme,
            each.need,
            f"{each.max_over_mean:.3f}",
            f"{each.replicas:,}",
            "native" if each.native else "Python UDF",
        )
    return table


def _numbers(*names: str) -> list[Column]:
    return [Column(name, justify="right") for name in names]


def print_state(diagnosis: StateDiagnosis) -> None:
    """Print a line for each store."""
    console = Console()
    console.print(
        f"[bold]{escape(diagnosis.checkpoint)}[/]: state after batch {diagnosis.batch}",
        highlight=False,
    )
    shown = Table(*STATE_HEADS)
    for store in diagnosis.stores:
        shown.add_row(*map(escape, state_cells(store)))
    console.print(shown)


def state_cells(store: StoreSkew) -> Sequence[str]:
    """One store as a row of a table."""
    fullest = ", ".join(f"{place}: {load:,}" for place, load in store.fullest())
    return (
        f"{store.operator} {store.name}",
        store.store,
        f"{store.total:,} {store.unit}",
        str(len(store.loads)),
        f"{store.max_over_mean:.3f}",
        fullest,
    )
