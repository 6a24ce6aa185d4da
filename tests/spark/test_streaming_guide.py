"""The examples of the guide to streams run, from the first to the last."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql.utils import is_remote

pytestmark = pytest.mark.spark

GUIDE = Path(__file__).parents[2] / "docs" / "streaming.md"


def test_the_examples_run(spark, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    source = "\n".join(each for each in blocks if not (is_remote() and "replanned" in each))
    # Spark runs in a directory of its own: what the guide writes must be found from there.
    for name in ("words", "checkpoint-of-kept", "checkpoint", "out", "kept"):
        source = re.sub(rf'"{name}(?=["/])', f'"{tmp_path}/{name}', source)
    names = {"spark": spark, "__name__": "guide"}
    exec(compile(source, str(GUIDE), "exec"), names)
    spark.streams.removeListener(names["watched"])
    said = capsys.readouterr().out
    assert "plain Spark: Spark combines these aggregates" in said
    assert "max/mean" in said
