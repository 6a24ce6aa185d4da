"""Complete programs on the public API, one file each: data, job and check."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from unskew.errors import UnknownNameError

if TYPE_CHECKING:
    from unskew_lab.apps.contract import App

ALL: dict[str, str] = {
    "wordcount": "the most frequent words of a text",
    "in-degree": "the vertices of a graph with the most edges coming in",
    "heavy-hitters": "the heaviest keys in bounded memory, with bounds on their counts",
    "naive-bayes": "the classes of documents by the words in them",
    "decision-tree": "a decision tree from histograms of every feature",
    "self-join": "who buys and sells the same stock within a day",
    "tpch-q5": "revenue by nation of the last five minutes, query 5 of TPC-H",
    "enrich": "what a model says about documents of very different length",
}
"""Every app of `unskew run` by name, and what it finds; each is a module of this folder."""


def load(name: str) -> App:
    """The app of that name; loading it needs pyspark, listing the names does not."""
    if name not in ALL:
        raise UnknownNameError("app", name, ALL)
    app: App = importlib.import_module(f"unskew_lab.apps.{name.replace('-', '_')}").APP
    return app
