"""The notebooks run from top to bottom, and are kept without outputs that could grow old."""

from __future__ import annotations

import os
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "notebooks"
ON_SPARK = {"diagnose-and-fix"}
SPARK = [pytest.mark.spark, pytest.mark.long]  # its kernel starts a Spark of its own: a minute
NOTEBOOKS = [
    pytest.param(path, marks=SPARK if path.stem in ON_SPARK else [], id=path.stem)
    for path in sorted(FOLDER.glob("*.ipynb"))
]


@pytest.mark.parametrize("path", NOTEBOOKS)
def test_a_notebook_runs(path, tmp_path, monkeypatch):
    # Queues need some slots of time to tell the schemes apart.
    monkeypatch.setenv("NOTEBOOK_ROWS", "20000" if path.stem in ON_SPARK else "200000")
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    book = nbformat.read(path, as_version=4)
    NotebookClient(
        book,
        timeout=1800,
        startup_timeout=600,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute(env=dict(os.environ))
    outputs = [output for cell in book.cells for output in cell.get("outputs", [])]
    assert any("image/png" in output.get("data", {}) for output in outputs)


@pytest.mark.parametrize("path", NOTEBOOKS)
def test_a_notebook_is_kept_without_outputs(path):
    book = nbformat.read(path, as_version=4)
    nbformat.validate(book)
    for cell in book.cells:
        if cell.cell_type == "code":
            assert not cell.outputs
            assert cell.execution_count is None
