"""`unskew watch`: a live page of a running stream."""

from __future__ import annotations

import webbrowser
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from unskew.cli.options import Json
from unskew.cli.terminal import console, print_json
from unskew.errors import InputError, ParameterError
from unskew.report.live.access import is_local
from unskew.report.live.history import History
from unskew.report.live.lines import lines_file
from unskew.report.live.server import LiveServer

Where = Annotated[
    Path,
    typer.Argument(
        metavar="DIR|CHECKPOINT", help="The stream's checkpoint, or the folder of batches.jsonl."
    ),
]
Port = Annotated[int, typer.Option(help="Port of the page; 0 picks a free one.")]
Host = Annotated[
    str,
    typer.Option(
        help="Address to listen on. Other machines can reach any but 127.0.0.1, with a token."
    ),
]
Open = Annotated[bool, typer.Option("--open", help="Open the page in a browser.")]


def watch(
    where: Where,
    port: Port = 4646,
    host: Host = "127.0.0.1",
    open_page: Open = False,
    as_json: Json = False,
) -> None:
    """Serve a live page of a running stream until Ctrl-C. Needs no Spark.

    It only reads the JSON lines that unskew.streaming.stateful writes into its checkpoint, or
    unskew.streaming.watch(spark, folder=...) into its folder.

    Examples:

      unskew watch checkpoint

      unskew watch checkpoint/unskew --port 0 --open

      unskew watch checkpoint --host 0.0.0.0
    """
    if not 0 <= port <= 65535:
        raise ParameterError(f"--port {port} is not in 0..65535")
    history = History(lines_file(where))
    history.update()
    # Ctrl-C is the documented way to end it, not a failure.
    with suppress(KeyboardInterrupt), _server(host, port, history) as server:
        if as_json:
            print_json({"url": server.url, "lines": str(history.path)})
        else:
            console.print(f"Page: {server.url}", soft_wrap=True, highlight=False)
            console.print(_how(host), highlight=False)
        if open_page:
            webbrowser.open(server.url)
        server.serve_forever(poll_interval=0.2)


def _server(host: str, port: int, history: History) -> LiveServer:
    try:
        return LiveServer(host, port, history)
    except OSError as error:
        raise InputError(
            f"cannot listen on {host}:{port} ({error.strerror}); choose another --port, or 0 for a "
            "free one"
        ) from error


def _how(host: str) -> str:
    if is_local(host):
        return "Only this machine can open it. Ctrl-C stops the page, not the stream."
    return (
        "Anyone with this address and its token can open it; nothing is encrypted. Ctrl-C stops it."
    )
