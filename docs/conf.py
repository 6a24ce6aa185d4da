"""How Sphinx builds the site: `make docs`. Nothing on the pages is fetched from elsewhere."""

from __future__ import annotations

from importlib.metadata import version as installed

project = "evenkeel"
author = "the evenkeel authors"
release = installed("evenkeel")
version = ".".join(release.split(".")[:2])
html_title = f"evenkeel {release}"

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "numpydoc",
]
exclude_patterns = ["_build"]
source_suffix = {".md": "markdown"}

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
# A link that leads nowhere is a mistake.
nitpicky = False

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_class_signature = "separated"
python_use_unqualified_type_names = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "furo"
html_static_path = ["static"]
html_copy_source = False
html_show_sphinx = False
pygments_style = "tango"
pygments_dark_style = "monokai"
