from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.browser import streams
from tests.browser.chromium import Browser, Page
from tests.browser.chromium import browser as chromium

from unskew.report.live.history import History
from unskew.report.live.server import LiveServer


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """One Chromium for all tests."""
    with chromium(tmp_path_factory.mktemp("profile")) as found:
        yield found


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
def page(browser: Browser, serve: Callable[..., LiveServer], tmp_path: Path) -> Page:
    """The live page of a stream of 300 batches."""
    streams.write(tmp_path, 0, 300)
    found = browser.page()
    found.open(serve(tmp_path).url, "document.body.dataset.batches === '300'")
    return found
