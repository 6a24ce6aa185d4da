from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.browser import streams
from tests.browser.chromium import Window, chromium

from unskew.report.live.history import History
from unskew.report.live.server import LiveServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One Chromium per module: while it runs, nothing else can run an event loop."""
    with chromium() as found:
        yield found


@pytest.fixture
def window(browser: Browser) -> Iterator[Window]:
    """A new window."""
    found = Window(browser)
    yield found
    found.page.close()


@pytest.fixture
def serve() -> Iterator[Callable[..., LiveServer]]:
    """Serve the records of a folder."""
    servers = []

    def start(folder: Path, host: str = "127.0.0.1") -> LiveServer:
        server = LiveServer(host, 0, History(folder / "batches.jsonl"))
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


@pytest.fixture
def page(window: Window, serve: Callable[..., LiveServer], tmp_path: Path) -> Page:
    """The live page of a stream of 300 batches."""
    streams.write(tmp_path, 0, 300)
    return window.open(serve(tmp_path).url, "document.body.dataset.batches === '300'")
