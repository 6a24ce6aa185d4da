"""Draw the data flow of every app as docs/images/flows/APP.svg: columns of boxes, left to right."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "images" / "flows"
CHARACTER, LINE, PADDING = 7.2, 17, 12
GAP, SPACE, MARGIN = 46, 14, 16
INK, PAPER, SOURCE, WORKER, RESULT = "#1f2933", "#ffffff", "#e8eef4", "#fdf0d5", "#e3f1e3"
WORKERS = ("worker 0", "worker 1", "…")


@dataclass(frozen=True)
class Column:
    """Boxes below each other; `arrow` says by what rows go on to the next column."""

    boxes: tuple[str, ...]
    fill: str = PAPER
    arrow: str = ""

    @property
    def width(self) -> float:
        """Of all its boxes."""
        lines = [line for box in self.boxes for line in box.split("\n")]
        return max(map(len, lines)) * CHARACTER + 2 * PADDING

    @property
    def gap(self) -> float:
        """To the next column, with room for what the arrow says."""
        return GAP + max((len(line) for line in self.arrow.split("\n")), default=0) * CHARACTER

    @property
    def height(self) -> float:
        """Of all its boxes with the space between them."""
        return sum(map(_height, self.boxes)) + SPACE * (len(self.boxes) - 1)


@dataclass(frozen=True)
class Flow:
    """Columns from left to right, and what goes back from one to another."""

    columns: tuple[Column, ...]
    back: tuple[int, int, str] | None = None


def _workers(what: str, arrow: str = "") -> Column:
    return Column(
        tuple(f"{name}\n{what}" if name != "…" else name for name in WORKERS), WORKER, arrow
    )


def _sources(*boxes: str, arrow: str) -> Column:
    return Column(boxes, SOURCE, arrow)


def _result(*boxes: str) -> Column:
    return Column(boxes, RESULT)


FLOWS = {
    "wordcount": Flow(
        (
            _sources("lines → words", "lines → words", arrow="word,\nby the scheme"),
            _workers("counts of its words", "at the end of\na micro-batch"),
            Column(("merge: sum by word",)),
            _result("highest counts"),
        )
    ),
    "in-degree": Flow(
        (
            _sources(
                "edges of some\nsource vertices", "edges of others", arrow="target,\nby the scheme"
            ),
            _workers("edges by target"),
            Column(("merge: sum by target",)),
            _result("highest degrees"),
        )
    ),
    "heavy-hitters": Flow(
        (
            _sources("rows", "rows", arrow="key,\nby the scheme"),
            _workers("SpaceSaving, 100 counters"),
            Column(("merge: sum estimates\nand errors by key",)),
            _result("heaviest keys,\nat least … at most"),
        )
    ),
    "naive-bayes": Flow(
        (
            _sources(
                "documents →\n(word, label)",
                "documents →\n(word, label)",
                arrow="word,\nby the scheme",
            ),
            _workers("counts\nby label"),
            Column(("merge by word;\nwords of others ask",)),
            _result("most likely label,\nby document"),
        )
    ),
    "decision-tree": Flow(
        (
            _sources(
                "rows → (leaf, class,\nfeature, value)",
                "rows → (leaf, class,\nfeature, value)",
                arrow="feature,\nby the scheme",
            ),
            _workers("a histogram for each\nleaf, feature, class"),
            Column(("merge by leaf,\nfeature, class",)),
            _result("best split\nof every leaf"),
        ),
        back=(3, 0, "the tree, one level deeper"),
    ),
    "self-join": Flow(
        (
            _sources("trades", arrow="stock,\nby a table"),
            _workers("its stocks' last day\nof trades: state"),
            _result("pairs of a buy\nand a sale"),
        ),
        back=(1, 0, "cost by stock → a new table; stocks move with their state"),
    ),
    "tpch-q5": Flow(
        (
            _sources("orders", "lines", arrow="order,\nby a table"),
            _workers("orders and lines\nwait for each other", "sales"),
            Column(("join customers", "join suppliers"), PAPER, "within\na nation"),
            _result("revenue by nation,\nlast five minutes"),
        ),
        back=(1, 0, "cost by order → a new table; orders move with their state"),
    ),
    "enrich": Flow(
        (
            _sources("documents", "documents", arrow="the longest\nalone and first"),
            _workers("10 µs a character"),
            _result("documents with\ntheir words"),
        ),
    ),
}


def drawn(flow: Flow) -> str:
    """The flow as SVG."""
    tall = max(column.height for column in flow.columns)
    top = MARGIN + 2 * LINE
    parts, boxes, x = [], [], float(MARGIN)
    for column in flow.columns:
        y, placed = top + (tall - column.height) / 2, []
        for text in column.boxes:
            placed.append((x, y, column.width, _height(text)))
            parts.append(_box(placed[-1], text, column.fill))
            y += _height(text) + SPACE
        boxes.append(placed)
        x += column.width + column.gap
    for column, here, there in zip(flow.columns, boxes, boxes[1:], strict=False):
        parts += [_arrow(one, two) for one in here for two in there]
        parts.append(_label(column.arrow, (here[0][0] + here[0][2] + there[0][0]) / 2))
    width, height = x - flow.columns[-1].gap + MARGIN, top + tall + MARGIN
    if flow.back is not None:
        parts.append(_back(flow.back, boxes, top + tall + MARGIN))
        height += 2 * LINE
    style = f'font-family="sans-serif" font-size="13" fill="{INK}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" {style}>\n{_HEAD}\n'
        f'<rect width="100%" height="100%" fill="{PAPER}"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


_HEAD = (
    '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
    f'orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="{INK}"/></marker></defs>'
)
Box = tuple[float, float, float, float]


def _height(text: str) -> float:
    return LINE * len(text.split("\n")) + PADDING


def _box(box: Box, text: str, fill: str) -> str:
    x, y, width, height = box
    lines = text.split("\n")
    said = "".join(
        _text(x + width / 2, y + PADDING / 2 + LINE * (number + 0.75), line)
        for number, line in enumerate(lines)
    )
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" rx="4" '
        f'fill="{fill}" stroke="{INK}"/>{said}'
    )


def _text(x: float, y: float, line: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle">{escape(line)}</text>'


def _arrow(one: Box, two: Box) -> str:
    x1, y1, x2, y2 = one[0] + one[2], one[1] + one[3] / 2, two[0], two[1] + two[3] / 2
    return _path(f"M{x1:.1f} {y1:.1f} L{x2:.1f} {y2:.1f}")


def _path(shape: str) -> str:
    return f'<path d="{shape}" fill="none" stroke="{INK}" marker-end="url(#head)"/>'


def _label(arrow: str, x: float) -> str:
    """Over the arrows, at the top of the picture."""
    lines = arrow.split("\n")
    return "".join(
        _text(x, MARGIN + LINE * (number + 0.5), line) for number, line in enumerate(lines) if line
    )


def _back(back: tuple[int, int, str], boxes: list[list[Box]], y: float) -> str:
    """From below one column to below another."""
    start, end, text = back
    (x1, y1, w1, h1), (x2, y2, w2, h2) = boxes[start][-1], boxes[end][-1]
    down, up = x1 + w1 / 2, x2 + w2 / 2
    line = _path(f"M{down:.1f} {y1 + h1:.1f} V{y:.1f} H{up:.1f} V{y2 + h2 + 2:.1f}")
    return line + f'<text x="{up:.1f}" y="{y + LINE:.1f}">{escape(text)}</text>'


def main() -> None:
    """Write all of them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, flow in FLOWS.items():
        (FOLDER / f"{name}.svg").write_text(drawn(flow))


if __name__ == "__main__":
    main()
