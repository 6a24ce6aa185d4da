"""A headless Chromium, driven by its own protocol over a pipe: nothing needs to be installed."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 120.0


@contextmanager
def browser(profile: Path) -> Iterator[Browser]:
    """Start Chromium and end it."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        raise RuntimeError(f"none of {', '.join(NAMES)} is installed; run `make test-browser`")
    there, ours = os.pipe(), os.pipe()
    # Chromium reads from 3 and writes to 4; neither may be one of the pipes' own numbers.
    reads, writes = (fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (there[0], ours[1]))

    def arrange() -> None:
        os.dup2(reads, 3)
        os.dup2(writes, 4)

    options = [
        "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu",
        "--disable-dev-shm-usage", "--disable-background-networking", "--hide-scrollbars",
        "--force-color-profile=srgb", f"--user-data-dir={profile}", "about:blank",
    ]  # fmt: skip
    if os.geteuid() == 0:
        options.insert(0, "--no-sandbox")  # As root Chromium runs in no other way.
    process = subprocess.Popen(
        [program, *options], preexec_fn=arrange, pass_fds=(3, 4), stderr=subprocess.DEVNULL
    )
    for end in (there[0], ours[1], reads, writes):
        os.close(end)
    try:
        yield Browser(there[1], ours[0])
    finally:
        process.terminate()
        process.wait(30)
        os.close(there[1])
        os.close(ours[0])


class Browser:
    """Calls of the DevTools protocol, one at a time."""

    def __init__(self, write: int, read: int) -> None:
        self._write, self._read = write, read
        self._number = 0
        self._rest = b""
        self.events: list[dict[str, Any]] = []

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Ask, and wait for the answer; events on the way are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            found = self._message()
            if found.get("id") == self._number:
                if "error" in found:
                    raise RuntimeError(f"{method}: {found['error']}")
                return dict(found["result"])
            self.events.append(found)

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            part = os.read(self._read, 1 << 20)
            if not part:
                raise RuntimeError("Chromium ended")
            self._rest += part
        text, _, self._rest = self._rest.partition(b"\0")
        return dict(json.loads(text))

    def page(self, width: int = 1200, height: int = 900, dark: bool = False) -> Page:
        """A new window."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        for domain in ("Page", "Runtime", "Network", "Log"):
            page.call(f"{domain}.enable")
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)  # fmt: skip
        page.media("screen", dark)
        return page


class Page:
    """One window."""

    def __init__(self, browser: Browser, session: str) -> None:
        self.browser, self.session = browser, session

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """A call of this window."""
        return self.browser.call(method, self.session, **params)

    def media(self, kind: str, dark: bool) -> None:
        """Look at it on a screen or on paper, in light or dark."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=kind, features=[scheme])

    def open(self, url: str, until: str = "document.readyState === 'complete'") -> None:
        """Go to an address, and wait until an expression holds there."""
        self.call("Page.navigate", url=url)
        self.wait(f"location.href !== 'about:blank' && {until}")

    def run(self, expression: str) -> Any:
        """The value of an expression."""
        found = self.call(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True
        )
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"]["exception"].get("description"))
        return found["result"].get("value")

    def wait(self, expression: str) -> None:
        """Wait until an expression holds."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            try:
                if self.run(expression):
                    return
            except RuntimeError:
                pass  # The page is being replaced.
            time.sleep(0.05)
        raise AssertionError(f"never came true: {expression}")

    def text(self, selector: str) -> str:
        """What is written in an element."""
        return str(self.run(f"document.querySelector({json.dumps(selector)}).innerText"))

    def centre(self, selector: str) -> tuple[float, float]:
        """The middle of an element, scrolled into view."""
        x, y = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            "e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + b.height / 2] })()"
        )
        return x, y

    def mouse(self, kind: str, x: float, y: float, clicks: int = 0) -> None:
        """One event of the mouse: Moved, Pressed or Released."""
        self.call("Input.dispatchMouseEvent", type=f"mouse{kind}", x=x, y=y, clickCount=clicks,
                  button="left" if clicks else "none", buttons=int(kind == "Pressed"))  # fmt: skip

    def click(self, selector: str) -> None:
        """Press and release on the middle of an element."""
        x, y = self.centre(selector)
        self.mouse("Moved", x, y)
        self.mouse("Pressed", x, y, 1)
        self.mouse("Released", x, y, 1)

    def drag(self, selector: str, start: float, end: float) -> None:
        """From one share of an element's width to another."""
        x, y = self.centre(selector)
        width = self.run(
            f"document.querySelector({json.dumps(selector)}).getBoundingClientRect().width"
        )
        begin, stop = (x + (share - 0.5) * width for share in (start, end))
        self.mouse("Moved", begin, y)
        self.mouse("Pressed", begin, y, 1)
        for step in range(1, 6):
            self.call("Input.dispatchMouseEvent", type="mouseMoved", button="left", buttons=1,
                      x=begin + (stop - begin) * step / 5, y=y)  # fmt: skip
        self.mouse("Released", stop, y, 1)

    def key(self, name: str) -> None:
        """Press a key: a letter, or ArrowLeft, Tab, Enter ..."""
        text = {"Enter": "\r"}.get(name, name if len(name) == 1 else "")
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=name, code=_CODES.get(name, ""),
                      windowsVirtualKeyCode=_NUMBERS.get(name, 0),
                      **({"text": text} if text and kind == "keyDown" else {}))  # fmt: skip

    def picture(self, path: Path, whole: bool = True) -> None:
        """What is seen, down to the end of the page."""
        found = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))

    def paper(self) -> bytes:
        """The page as it is printed."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def complaints(self) -> list[str]:
        """What went wrong so far: errors of scripts, refused and failed loads."""
        return [
            json.dumps(event)
            for event in self.browser.events
            if event.get("sessionId") == self.session
            and (
                event["method"] == "Runtime.exceptionThrown"
                or (event["method"] == "Log.entryAdded"
                    and event["params"]["entry"]["level"] == "error")
            )
        ]  # fmt: skip

    def requested(self) -> set[str]:
        """All addresses that were asked for."""
        return {
            event["params"]["request"]["url"]
            for event in self.browser.events
            if event.get("sessionId") == self.session
            and event["method"] == "Network.requestWillBeSent"
        }


_CODES = {"Tab": "Tab", "Enter": "Enter", "Escape": "Escape", "Home": "Home", "End": "End"}
_NUMBERS = {
    "Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowRight": 39
}  # fmt: skip
