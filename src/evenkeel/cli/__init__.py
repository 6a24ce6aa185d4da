"""The `evenkeel` command: one file per subcommand."""

from __future__ import annotations

import sys

import typer

from evenkeel.cli import bench, compare, demo, diagnose, rebalance, reproduce, run, simulate
from evenkeel.cli.terminal import errors
from evenkeel.errors import EvenkeelError
from evenkeel.shown import harmless

app = typer.Typer(
    name="evenkeel",
    help="Keep keyed processing balanced when keys are skewed, rows differ in cost, or machines "
    "differ in speed.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
app.command()(demo.demo)
app.command()(diagnose.diagnose)
app.command()(simulate.simulate)
app.command()(compare.compare)
app.command()(rebalance.rebalance)
app.command()(reproduce.reproduce)
app.command()(run.run)
app.command()(bench.bench)


def main() -> None:
    """Run the command line; an error of ours is one sentence and exit code 2."""
    try:
        app()
    except EvenkeelError as error:
        errors.print(harmless(f"evenkeel: {error}"), markup=False, highlight=False, soft_wrap=True)
        sys.exit(2)
