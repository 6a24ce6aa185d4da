"""A diagnosis: right figures, safe pages, one JSON object on the command line."""

from __future__ import annotations

import json

import pytest
from pyspark.sql import functions as F
from typer.testing import CliRunner

import unskew
from unskew.cli import app
from unskew.errors import InputError, UnknownNameError
from unskew.partitioners import ALL

pytestmark = pytest.mark.spark

SCRIPT = "<script>alert('$x$')</script>"


@pytest.fixture(scope="module")
def clicks(spark):
    """A third of 9,000 rows have a nasty key, a tenth of the others none."""
    other = F.concat(F.lit("[bold]"), (F.col("id") % 400).cast("string"))
    key = F.when(F.col("id") % 3 == 0, F.lit(SCRIPT)).when(F.col("id") % 10 != 0, other)
    return spark.range(9000).select(key.alias("user"), (F.col("id") % 2).alias("half"))


@pytest.fixture(scope="module")
def diagnosis(clicks):
    return unskew.diagnose(clicks, "user", workers=10)


@pytest.mark.smoke
def test_figures(diagnosis):
    assert diagnosis.rows == 9000
    assert diagnosis.nulls == 600
    assert diagnosis.keys == pytest.approx(362, rel=0.1)
    assert (diagnosis.top[0].key, diagnosis.top[0].rows) == (SCRIPT, 3000)
    assert (diagnosis.top[1].key, diagnosis.top[1].rows) == ("NULL", 600)
    assert diagnosis.slope > 0.2


def test_every_scheme_that_spark_can_run_is_forecast(diagnosis):
    expected = {name for name in ALL if not ALL[name](workers=10).coordinated}
    found = {each.scheme: each for each in diagnosis.schemes}
    assert set(found) == expected - {"offline-greedy", "posg", "full-knowledge"}
    assert found["planned-split"].max_over_mean < 1.02
    assert found["planned-split"].native
    assert found["kg"].max_over_mean > 3
    assert found["kg"].replicas == diagnosis.keys
    assert not found["pkg"].native


def test_recommendation(diagnosis, spark):
    assert diagnosis.recommendation.scheme == "planned-split"
    assert 'unskew.groupBy(df, "user", workers=10)' in diagnosis.recommendation.code
    assert "33.3% of the rows" in diagnosis.recommendation.whole_key
    even = unskew.diagnose(spark.range(20_000), "id", workers=4)
    assert even.recommendation.scheme == "kg"
    assert "plain Spark" in even.recommendation.code
    assert even.slope == 0


def test_pages_escape_keys(diagnosis):
    for page in (diagnosis.to_html(), diagnosis._repr_html_()):
        assert "<script>" not in page
        assert "&lt;script&gt;" in page


def test_other_forms(diagnosis, capsys):
    assert json.loads(diagnosis.to_json())["top"][0]["key"] == SCRIPT
    assert list(diagnosis.to_pandas()["scheme"]) == [each.scheme for each in diagnosis.schemes]
    figure = diagnosis.plot()
    figure.canvas.draw()
    assert [axes.get_title() for axes in figure.axes] == ["heaviest keys", "forecast"]
    diagnosis.show()
    shown = capsys.readouterr().out
    assert "planned-split" in shown
    assert "[bold]1" in shown


def test_several_columns_and_no_rows(clicks):
    both = unskew.diagnose(clicks, ["user", "half"], workers=3)
    assert {both.top[0].key, both.top[1].key} == {f"{SCRIPT}, 0", f"{SCRIPT}, 1"}
    assert '["user", "half"]' in both.recommendation.code
    nothing = unskew.diagnose(clicks.where("half > 1"), "user", workers=3)
    assert (nothing.rows, nothing.top, nothing.recommendation.scheme) == (0, (), "kg")


def test_command_line(clicks, tmp_path):
    clicks.write.parquet(str(tmp_path / "clicks.parquet"))
    page = tmp_path / "page.html"
    words = ["diagnose", str(tmp_path / "clicks.parquet"), "--key", "user", "--workers", "10"]
    result = CliRunner().invoke(app, [*words, "--json", "--html", str(page)])
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert {"rows", "keys", "top", "schemes", "recommendation"} <= set(document)
    assert {"scheme", "need", "max_over_mean", "replicas", "native"} <= set(document["schemes"][0])
    assert page.read_text().startswith("<!doctype html>")


def test_command_line_refusals(clicks, tmp_path):
    (tmp_path / "words.csv").write_text("word,n\na,1\na,2\nb,3\n")
    words = ["diagnose", str(tmp_path / "words.csv"), "--workers", "2", "--json", "--key"]
    result = CliRunner().invoke(app, [*words, "word"])
    assert json.loads(result.stdout)["top"][0] == {"key": "a", "rows": 2, "share": 2 / 3}
    assert isinstance(CliRunner().invoke(app, [*words, "wrod"]).exception, UnknownNameError)
    (tmp_path / "bad.parquet").write_text("no")
    for bad in ("bad.parquet", "missing.parquet"):
        result = CliRunner().invoke(app, ["diagnose", str(tmp_path / bad), "--key", "k"])
        assert isinstance(result.exception, InputError)
