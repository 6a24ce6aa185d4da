"""How soon the live page of a long stream is there, in a real Chromium; prints JSON.

From the request to the first paint, and to the moment when all charts are drawn, best of several;
and the page's own CPU time, which a busy machine does not lengthen. Run by
`python -m tests.browser.first_paint`.
"""

from __future__ import annotations

import json
import sys
import tempfile
import threading
import time
from pathlib import Path

from tests.browser.chromium import Window, chromium
from tests.browser.streams import write

from unskew.report.live.history import History
from unskew.report.live.server import LiveServer

PAINT = "performance.getEntriesByType('paint')[0].startTime"
DRAWN = "performance.getEntriesByName('drawn')[0].startTime"


def main(batches: int = 10_000, repeats: int = 5) -> None:
    """Measure; `batches` and `repeats` may be given as words."""
    with tempfile.TemporaryDirectory() as folder:
        path = write(Path(folder) / "stream", 0, batches)
        began = time.perf_counter()
        history = History(path)
        history.update()
        reading = time.perf_counter() - began
        with LiveServer("127.0.0.1", 0, history) as server, chromium() as browser:
            threading.Thread(target=server.serve_forever, daemon=True).start()
            found = []
            for _ in range(repeats):
                window = Window(browser)
                protocol = window.page.context.new_cdp_session(window.page)
                protocol.send("Performance.enable", {"timeDomain": "threadTicks"})
                page = window.open(server.url, f"document.body.dataset.batches === '{batches}'")
                metrics = protocol.send("Performance.getMetrics")["metrics"]
                spent = {each["name"]: each["value"] for each in metrics}["TaskDuration"]
                found.append((page.evaluate(PAINT) / 1000, page.evaluate(DRAWN) / 1000, spent))
            server.shutdown()
    paint, drawn, spent = (min(each) for each in zip(*found, strict=True))
    print(json.dumps({"batches": batches, "reading_seconds": reading,
                      "first_paint_seconds": paint, "drawn_seconds": drawn,
                      "page_cpu_seconds": spent}))  # fmt: skip


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
