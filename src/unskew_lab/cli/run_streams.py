"""The options of `unskew run` for streams, checked before Spark starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from unskew.errors import ParameterError

if TYPE_CHECKING:
    from unskew_lab.apps.contract import App


def micro_batches(app: App, batches: int | None) -> int:
    """How many there are; 0 for a run on a table."""
    if batches is None:
        return app.batches
    if app.stream is None:
        raise ParameterError(f"{app.name} runs on a table; remove --batches {batches}")
    if batches < 1:
        raise ParameterError(f"--batches {batches} is not at least 1")
    return batches


def with_cost(app: App, schemes: tuple[str, ...], batches: int, cost: float) -> tuple[str, ...]:
    """The schemes that can emulate work: those that keep state by key in Python."""
    from unskew_lab.apps.keyed_state import APPLY, SCHEMES, TRANSFORM

    if not 0 <= cost < float("inf"):
        raise ParameterError(f"--cost {cost} is not a time in milliseconds")
    if not app.keeps_state:
        raise ParameterError(f"--cost is for apps that keep state by key; remove it for {app.name}")
    if not batches:
        raise ParameterError("--cost needs a stream; give --batches 10")
    able = (*SCHEMES, TRANSFORM, APPLY) if not app.by_routes else (*app.names,)
    left = tuple(each for each in schemes if each in able)
    if not left:
        raise ParameterError(f"{', '.join(schemes)} cannot emulate work; give one of {able}")
    return left


def with_period(app: App, schemes: tuple[str, ...], batches: int, period: int) -> tuple[str, ...]:
    """The schemes whose workers send partial results: those that keep no state by key."""
    if period < 1:
        raise ParameterError(f"--period {period} is not at least 1 micro-batch")
    if not app.periods:
        raise ParameterError(f"{app.name} has no aggregation period; remove --period {period}")
    if not batches:
        raise ParameterError(f"--period {period} needs a stream; give --batches 10")
    left = tuple(each for each in schemes if each not in app.names)
    if not left:
        raise ParameterError(
            f"{', '.join(schemes)} sends no partial results; remove --period, or give a scheme "
            "such as pkg"
        )
    return left
