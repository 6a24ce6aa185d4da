"""The `unskew` command: one file per subcommand, loaded when it is called.

Exit codes: 0 success, 2 invalid input, 130 stopped by Ctrl-C, 1 any other error.
"""

from __future__ import annotations

import inspect
import signal
import sys
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

from unskew.cli.terminal import errors
from unskew.display import escape_controls
from unskew.errors import UnskewError

STOPPED = 130
"""The exit code after Ctrl-C, by the convention of shells."""

# A copy of the first line of each command's help: help and completion must not load the commands,
# because numba alone takes a second.
COMMANDS = {
    "demo": "Run a costly function on skewed groups on an embedded Spark, plain and with unskew.",
    "diagnose": "Measure the skew of a key and forecast every scheme, on an embedded Spark.",
    "simulate": "Route a stream by a scheme; report balance and replicas, and latency with queues.",
    "compare": "Simulate every scheme that is legal for a need on one stream and recommend one.",
    "rebalance": "Plan a routing table for whole keys: balance, table size and migration.",
    "report": "Collect the results in a folder into one self-contained page.",
    "watch": "Serve a live page of a running stream until Ctrl-C. Needs no Spark.",
}


class Commands(TyperGroup):
    """Lists every command by name and first line; loads only the one that is called."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.known = known_commands()
        for name, each in self.known.items():
            self.add_command(TyperCommand(name, help=each.first_line, rich_help_panel=each.panel))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Load the command that is called, with its options."""
        name, _, rest = super().resolve_command(ctx, args)
        return name, None if name is None else _loaded(name, self.known[name].module), rest


class Known(NamedTuple):
    """What is known of a command before its module is loaded."""

    module: str
    first_line: str
    panel: str = "Commands"
    """The part of `unskew --help` in which it stands."""


def known_commands() -> dict[str, Known]:
    """Every command by its name: ours first, then those of other packages."""
    known = {name: Known(f"{__name__}.{name}", line) for name, line in COMMANDS.items()}
    for point in sorted(entry_points(group="unskew.commands")):
        try:
            package = point.load()
            panel = str(getattr(package, "TITLE", point.name))
            for name, line in package.COMMANDS.items():
                known.setdefault(name, Known(f"{point.module}.{name}", str(line), panel))
        except Exception as error:  # Another package's fault must not cost us our own commands.
            _warn(f"the commands of {point.value} cannot be loaded: {error!r}")
    return known


def _warn(text: str) -> None:
    errors.print(escape_controls(f"unskew: {text}"), markup=False, highlight=False, soft_wrap=True)


def _loaded(name: str, module: str) -> Any:
    alone = typer.Typer(
        add_completion=False, rich_markup_mode="rich", pretty_exceptions_enable=False
    )
    command = getattr(import_module(module), name)
    alone.command(name, help=_help(command.__doc__))(command)
    return get_command(alone)


def _help(text: str) -> str:
    """Join each paragraph into one line, for the terminal to wrap; mark examples with $."""
    joined = (" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n"))
    return "\n\n".join(f"$ {part}" if part.startswith("unskew ") else part for part in joined)


app = typer.Typer(
    name="unskew",
    cls=Commands,
    help="Keep keyed processing balanced when keys are skewed, rows differ in cost, or machines "
    "differ in speed.",
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    epilog="Exit codes: 0 success, 2 invalid input, 130 stopped by Ctrl-C, 1 any other error.",
)


@app.callback()
def _unskew() -> None:
    """Only subcommands do anything."""


def main() -> None:
    """Run the command line; an UnskewError becomes one message and exit code 2."""
    try:
        app(prog_name="unskew")
    except UnskewError as error:
        _warn(str(error))
        sys.exit(2)
    except SystemExit as end:
        if end.code == STOPPED:
            _stop()
        raise
    except Exception as error:
        if not _was_interrupted(error):
            raise
        _stop()
        sys.exit(STOPPED)


def _was_interrupted(error: BaseException | None) -> bool:
    """Whether Ctrl-C caused it: Spark then cancels its jobs and raises an error on top."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__context__
    return error is not None


def _stop() -> None:
    """After Ctrl-C: stop Spark and its Java process, if they run."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Once is enough.
    errors.print("unskew: stopped")
    if "pyspark" in sys.modules:
        from unskew._spark.session import stop_session

        stop_session()
