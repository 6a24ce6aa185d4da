"""Plots as files: PNG by matplotlib, self-contained interactive pages by plotly.

Both are the optional extra `plot` and are imported only when something is drawn.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any, Literal

from unskew_lab.papers.plot import Panel, Plot, drawable, styles

_MATPLOTLIB_MARKERS = {
    "circle": "o",
    "square": "s",
    "triangle-up": "^",
    "diamond": "D",
    "triangle-down": "v",
    "cross": "P",
    "x": "X",
    "star": "*",
}


def can_draw() -> bool:
    """Whether the drawing libraries are there; the tables need none of them."""
    return all(importlib.util.find_spec(module) for module in ("matplotlib", "plotly"))


def draw(plot: Plot, path: Path) -> None:
    """Write `path`.png and `path`.html."""
    draw_png(plot, path.with_suffix(".png"))
    draw_html(plot, path.with_suffix(".html"))


def draw_png(plot: Plot, path: Path) -> None:
    """Draw with matplotlib; no display is needed."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    chosen = styles(plot)
    columns = min(plot.columns, len(plot.panels))
    width = max(4.0 * columns, 7.0)  # a single panel still needs room for title and legend
    figure = Figure(figsize=(width, 2.9 * plot.rows + 0.9), layout="constrained")
    FigureCanvasAgg(figure)
    sharing: Literal["row", "none"] = "row" if plot.share_y else "none"
    axes = figure.subplots(plot.rows, columns, squeeze=False, sharey=sharing)
    for spot, panel in zip(axes.flat, plot.panels, strict=False):
        _fill_axes(spot, panel, chosen)
    for spot in list(axes.flat)[len(plot.panels) :]:
        spot.set_visible(False)
    figure.suptitle(plot.title, fontsize=12)
    handles = {
        label: handle
        for spot in axes.flat
        for handle, label in zip(*spot.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        handles.values(),
        handles.keys(),
        loc="outside lower center",
        ncols=8,
        frameon=False,
        title=plot.note or None,
        title_fontsize=8,
    )
    figure.savefig(path, dpi=120)


def _fill_axes(axes: Any, panel: Panel, chosen: dict[str, tuple[str, str]]) -> None:
    for line in panel.lines:
        colour, marker = chosen[line.name]
        axes.plot(
            line.x,
            drawable(line, panel),
            label=line.name,
            color=colour,
            marker=_MATPLOTLIB_MARKERS[marker] if line.points else "",
            linestyle="--" if line.dashed else "-",
            markersize=5,
            linewidth=1.5,
        )
    axes.set_title(panel.title, fontsize=10)
    axes.set_xlabel(panel.x)
    axes.set_ylabel(panel.y)
    axes.set_xscale("log" if panel.log_x else "linear")
    axes.set_yscale("log" if panel.log_y else "linear")
    if panel.from_zero:
        axes.set_ylim(bottom=0)
    if not panel.log_x and all(float(x).is_integer() for line in panel.lines for x in line.x):
        axes.xaxis.get_major_locator().set_params(integer=True)
    axes.grid(True, which="major", linewidth=0.4, alpha=0.6)


def draw_html(plot: Plot, path: Path) -> None:
    """Draw with plotly into one file that needs no network."""
    from plotly import graph_objects
    from plotly.subplots import make_subplots

    chosen = styles(plot)
    columns = min(plot.columns, len(plot.panels))
    page = make_subplots(
        plot.rows,
        columns,
        subplot_titles=[panel.title for panel in plot.panels],
        shared_yaxes=plot.share_y,
    )
    named: set[str] = set()
    for index, panel in enumerate(plot.panels):
        row, column = divmod(index, columns)
        spot = {"row": row + 1, "col": column + 1}
        for line in panel.lines:
            colour, marker = chosen[line.name]
            trace = graph_objects.Scatter(
                x=list(line.x),
                y=drawable(line, panel),
                name=line.name,
                legendgroup=line.name,
                showlegend=line.name not in named,
                mode="lines+markers" if line.points else "lines",
                line={"color": colour, "dash": "dash" if line.dashed else "solid"},
                marker={"symbol": marker},
            )
            named.add(line.name)
            page.add_trace(trace, **spot)
        page.update_xaxes(title_text=panel.x, type="log" if panel.log_x else "linear", **spot)
        page.update_yaxes(title_text=panel.y, type="log" if panel.log_y else "linear", **spot)
        if panel.from_zero:
            page.update_yaxes(rangemode="tozero", **spot)
    page.update_layout(
        title=f"{plot.title}<br><sub>{plot.note}</sub>" if plot.note else plot.title,
        template="plotly_white",
        height=360 * plot.rows + 140,
        hovermode="x unified",
    )
    page.write_html(path, include_plotlyjs=True)
