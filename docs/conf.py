"""How Sphinx builds the site: `make docs`. Nothing on the pages is fetched from elsewhere."""

from __future__ import annotations

import re
from importlib.metadata import version as installed
from typing import Any

project = "unskew"
author = "the unskew authors"
release = installed("unskew")
version = ".".join(release.split(".")[:2])
html_title = f"unskew {release}"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
]
exclude_patterns = ["_build"]
source_suffix = {".md": "markdown"}

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
# In docstrings `name` is code.
default_role = "code"

autosummary_generate = False  # numpydoc brings it along
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "separated"
python_use_unqualified_type_names = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "furo"
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
pygments_style = "tango"
pygments_dark_style = "monokai"


def setup(app: Any) -> None:
    """Read the house's docstrings before numpydoc does."""
    app.connect("autodoc-process-docstring", _as_paragraphs, priority=400)


def _as_paragraphs(
    app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]
) -> None:
    """`When:`, `Cost:` and `Paper:` with their indented lines become paragraphs of their own."""
    found: list[str] = []
    inside = False
    for line in lines:
        head = re.match(r"(When|Cost|Paper): (.*)", line)
        if head:
            found += ["", f"**{head[1]}**: {head[2]}"]
        elif inside and line.startswith("    "):
            found[-1] += f" {line.strip()}"
        else:
            found += ["", line] if inside and line.strip() else [line]
        inside = bool(head) or (inside and line.startswith("    "))
    lines[:] = found
