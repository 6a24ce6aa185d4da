"""The counting apps give plain Spark's counts by every scheme, and runs report what they did."""

from __future__ import annotations

import pytest
from tests.spark.cases import assert_cases_agree
from tests.spark.streams import final, read_batches, run_stream, write_batches

from unskew.errors import UnknownNameError
from unskew.testing import assert_same_result
from unskew_lab.apps import ALL, in_degree, load, wordcount
from unskew_lab.apps.keyed_state import APPLY, TRANSFORM
from unskew_lab.apps.running import Runner

pytestmark = pytest.mark.spark

EDGES = [(i % 7, i % 3 if i % 2 else i) for i in range(300)]
LINES = [("The cat, the dog & the mouse's tail.",), ("",), (None,), ("THE dog! Ünder öl 42 42",)]


def test_in_degrees_are_plain_sparks(spark):
    edges = in_degree.fed_by_source(spark.createDataFrame(EDGES, "source int, target int"))
    expected = edges.groupBy("target").count().withColumnRenamed("count", "degree")
    schemes = ("auto", *in_degree.APP.schemes)
    assert_cases_agree(
        {f"degrees/{each}": in_degree.in_degrees(edges, each, workers=3) for each in schemes},
        {"degrees": expected},
    )


def test_words_are_split_and_counted(spark):
    words = wordcount.words_of(spark.createDataFrame(LINES, "text string"))
    counted = {
        row["word"]: row["count"] for row in wordcount.word_counts(words, "pkg", 3).collect()
    }
    assert counted == {
        "the": 4,
        "dog": 2,
        "42": 2,
        "cat": 1,
        "mouse's": 1,
        "tail": 1,
        "ünder": 1,
        "öl": 1,
    }


def test_words_of_a_stream_are_counted_so_far(spark, tmp_path):
    batches = [LINES[:2], LINES[2:]]
    schema = write_batches(spark, tmp_path / "in", "text string", batches)
    stream = wordcount.words_of(read_batches(spark, tmp_path / "in", schema))
    output = run_stream(wordcount.word_counts(stream, "pkg", workers=2), "update", tmp_path)
    text = spark.createDataFrame([row for batch in batches for row in batch], "text string")
    assert_same_result(final(output, ["word"]), wordcount.words_of(text).groupBy("word").count())


@pytest.mark.classic("keyed state needs the driver's JVM")
@pytest.mark.parametrize("scheme", ["mixed", APPLY, TRANSFORM])
def test_words_are_counted_by_keyed_state_and_by_sparks_own(spark, tmp_path, scheme):
    text = spark.createDataFrame(LINES, "text string")
    found = Runner(wordcount.APP, text, 3, batches=2, folder=tmp_path, cost=1e-6).run(scheme)
    assert found.matches_reference
    assert found.max_over_mean >= 1
    assert found.replicas >= 1


def test_a_run_tells_time_balance_memory_and_whether_it_is_right(spark):
    edges = spark.createDataFrame(EDGES, "source int, target int")
    runner = Runner(in_degree.APP, edges, workers=4)
    found = {scheme: runner.run(scheme).as_dict() for scheme in ("kg", "pkg")}
    keys = len({target for _, target in EDGES})
    assert {each["matches_reference"] for each in found.values()} == {True}
    assert {each["rows"] for each in found.values()} == {300}
    assert found["kg"]["replicas"] == keys == found["kg"]["figures"]["keys"]
    assert keys < found["pkg"]["replicas"] <= 2 * keys
    assert found["pkg"]["max_over_mean"] < found["kg"]["max_over_mean"]


def test_a_run_on_a_stream_tells_latency_and_counters(spark, tmp_path):
    text = spark.createDataFrame(LINES * 30, "text string")
    runner = Runner(wordcount.APP, text, workers=3, batches=2, folder=tmp_path)
    found = {scheme: runner.run(scheme).as_dict() for scheme in ("planned-split", "pkg")}
    assert all(each["matches_reference"] and each["batches"] == 2 for each in found.values())
    assert all(0 < each["latency"] <= each["latency_max"] for each in found.values())
    # Both halves have all eight words: so many counters, and more where words are split.
    assert 8 < found["pkg"]["replicas"] <= 16
    assert found["pkg"]["max_over_mean"] < 1.2
    assert found["pkg"]["migrated_keys"] is None


def test_edges_of_a_stream_are_counted_so_far(spark, tmp_path):
    edges = spark.createDataFrame(EDGES, "source int, target int")
    found = Runner(in_degree.APP, edges, workers=3, batches=2, folder=tmp_path).run("pkg")
    assert found.matches_reference
    assert found.batches == 2
    assert found.rows == 300


def test_a_wrong_answer_is_noticed(spark):
    words = wordcount.words_of(spark.createDataFrame(LINES, "text string"))
    right = wordcount.APP.reference(words)
    missing = wordcount.APP.run(words.where("word != 'tail'"), "kg", 2)
    assert not wordcount.APP.agrees(missing, right)


@pytest.mark.parametrize("name", ALL)
def test_every_app_generates_its_input(spark, name):
    app = load(name)
    rows = app.generate(spark)
    assert app.name == name
    assert set(app.columns) <= set(rows.columns)
    assert set(app.key) <= set(app.routed(app.prepare(rows)).columns)


def test_an_unknown_app_is_named():
    with pytest.raises(UnknownNameError, match="did you mean 'wordcount'"):
        load("wordcuont")
