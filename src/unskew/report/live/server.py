"""The server of the live page: a few read-only answers, nothing loaded from elsewhere."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from socketserver import BaseServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from unskew.report.live.access import COOKIE, Access
from unskew.report.live.export import as_csv
from unskew.report.live.history import History

_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
}
_PARTS = ("page.css", "live.css", "watch.js", "chart.js", "figures.js", "panels.js")
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

Query = Mapping[str, list[str]]


class LiveServer(ThreadingHTTPServer):
    """Serves one history; `port` 0 picks a free one."""

    daemon_threads = True

    def __init__(self, host: str, port: int, history: History) -> None:
        self.history = history
        self.access = Access.of(host)
        super().__init__((host, port), Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore connections that the page closed before the answer was complete."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        """Where the page is, with the token if it needs one."""
        host, port = self.server_address[:2]
        query = f"?token={self.access.token}" if self.access.token else ""
        return f"http://{host}:{port}/{query}"  # type: ignore[str-bytes-safe]


class Handler(BaseHTTPRequestHandler):
    """One request. Only GET and HEAD exist, so nothing can be changed."""

    server_version = "unskew"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 30

    def __init__(self, request: Any, address: Any, server: BaseServer) -> None:
        assert isinstance(server, LiveServer)
        self.history, self.access = server.history, server.access
        super().__init__(request, address, server)

    def do_GET(self) -> None:
        """Answer if access is allowed."""
        try:
            address = urlsplit(self.path)
            query = parse_qs(address.query, max_num_fields=10)
        except ValueError:
            self._answer(HTTPStatus.BAD_REQUEST, b"Bad request.\n", "text/plain")
            return
        if address.path == "/" and self.access.fits(query.get("token", [None])[0]):
            self._let_in()
        elif not self.access.allows(self.headers.get("Host"), self.headers.get("Cookie")):
            self._answer(HTTPStatus.FORBIDDEN, b"Token required.\n", "text/plain")
        else:
            self._route(address.path, query)

    do_HEAD = do_GET  # noqa: N815

    def _route(self, path: str, query: Query) -> None:
        answers: dict[str, Callable[[Query], None]] = {
            "/": lambda _: self._part("watch.html"),
            "/batches": self._batches,
            "/batch": self._batch,
            "/batches.csv": self._csv,
        }
        if path in answers:
            answers[path](query)
        elif path[1:] in _PARTS:
            self._part(path[1:])
        else:
            self._answer(HTTPStatus.NOT_FOUND, b"Not found.\n", "text/plain")

    def _part(self, name: str) -> None:
        self._answer(HTTPStatus.OK, static(name), _TYPES[name.rpartition(".")[2]])

    def _batches(self, query: Query) -> None:
        self.history.update()
        self._json(self.history.since(_whole(query, "after")))

    def _batch(self, query: Query) -> None:
        self._json(self.history.batch(_whole(query, "number")))

    def _csv(self, _: Query) -> None:
        self.history.update()
        table = as_csv(self.history.all()).encode("utf-8-sig")
        self._answer(HTTPStatus.OK, table, "text/csv; charset=utf-8", attachment="batches.csv")

    def _json(self, document: object) -> None:
        body = json.dumps(document, separators=(",", ":"), allow_nan=False).encode()
        self._answer(HTTPStatus.OK, body, "application/json")

    def _let_in(self) -> None:
        """Move the token from the address bar, and the browser's history, into a cookie."""
        self.send_response(HTTPStatus.SEE_OTHER)
        self.send_header("Location", "/")
        self.send_header(
            "Set-Cookie", f"{COOKIE}={self.access.token}; HttpOnly; SameSite=Strict; Path=/"
        )
        self.send_header("Content-Length", "0")
        self._finish()

    def _answer(
        self, status: HTTPStatus, body: bytes, kind: str, attachment: str | None = None
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if attachment is not None:
            self.send_header("Content-Disposition", f'attachment; filename="{attachment}"')
        self._finish()
        if self.command != "HEAD":
            self.wfile.write(body)

    def _finish(self) -> None:
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Log nothing: the page sends a request every second."""


def static(name: str) -> bytes:
    """One of the files that the page consists of."""
    home = files("unskew.report")
    folder = home if name == "page.css" else home / "live" / "static"
    return (folder / name).read_bytes()


def _whole(query: Query, name: str) -> int:
    text = query.get(name, [""])[0]
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else -1
