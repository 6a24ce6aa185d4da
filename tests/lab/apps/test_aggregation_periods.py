"""Totals are exact at the end of every aggregation period, and longer periods send less."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import unskew
from unskew.errors import ParameterError
from unskew_lab.apps import aggregation_periods as app
from unskew_lab.apps import in_degree, wordcount
from unskew_lab.apps.running import Runner

WORDS = [[f"w{at * at % (5 + batch)}" for at in range(40)] + ["hot"] * 30 for batch in range(5)]
PAIRS = st.tuples(st.integers(0, 2), st.none() | st.sampled_from("abcd"))


@given(st.lists(st.lists(PAIRS, max_size=20), max_size=4))
def test_a_worker_counts_each_key_once(batches):
    rows = [
        pa.record_batch(
            {
                "worker": pa.array([worker for worker, _ in each], pa.int32()),
                "word": pa.array([word for _, word in each], pa.string()),
            }
        )
        for each in batches
    ]
    found = [tuple(row.values()) for part in app.counted(rows) for row in part.to_pylist()]
    wanted = Counter(pair for each in batches for pair in each)
    assert len(found) == len(wanted)
    assert {(worker, word): n for worker, word, n in found} == wanted


def test_a_period_has_a_batch():
    with pytest.raises(ParameterError, match="period=0 is not at least 1"):
        app.PeriodicCounts(None, None, "folder", 0)


def counts_of(spark, folder, scheme, period, batches=WORDS) -> app.PeriodicCounts:
    """The counts of batches that were processed as Spark would."""
    first = words(spark, batches[0])
    plan = unskew.plan(first, "word", 3, need="mergeable", scheme=scheme)
    path = str(folder / f"{scheme}-{period}")
    counts = app.PeriodicCounts(first.schema["word"], plan, path, period)
    for number, batch in enumerate(batches):
        counts.process(counts.routed(words(spark, batch)), number)
    return counts


def words(spark, batch):
    return spark.createDataFrame([(word,) for word in batch], "word string").coalesce(1)


@pytest.mark.spark
@pytest.mark.parametrize("scheme", ["kg", "pkg", "sg"])
def test_totals_are_plain_at_the_end_of_every_period(spark, tmp_path, scheme):
    counts = counts_of(spark, tmp_path, scheme, period=2)
    assert sorted(counts.sent) == [0, 1]  # The fifth batch is still with the workers.
    counts.process(counts.routed(words(spark, WORDS[4])), 4)  # Spark had not heard of its end.
    counts.finish(spark)
    counts.finish(spark)
    for period, batches in ((0, 2), (1, 4), (2, 5), (None, 5)):
        found = dict(counts.totals(spark, period).collect())
        assert found == Counter(word for batch in WORDS[:batches] for word in batch)
    distinct = [len({*WORDS[0], *WORDS[1]}), len({*WORDS[2], *WORDS[3]}), len({*WORDS[4]})]
    replicas = {"kg": 1, "pkg": 2, "sg": 3}[scheme]
    for number, keys in enumerate(distinct):
        assert keys <= counts.sent[number] <= replicas * keys
        assert replicas > 1 or counts.sent[number] == keys
    assert counts.figures["messages to the aggregator"] == sum(counts.sent.values())
    assert counts.figures["counters held at most"] == max(counts.sent.values())
    assert all(record.rows == 70 for record in counts.records.values())


@pytest.mark.spark
@pytest.mark.parametrize("scheme", ["kg", "pkg"])
def test_a_longer_period_sends_less_and_holds_more(spark, tmp_path, scheme):
    short, long = (counts_of(spark, tmp_path, scheme, period) for period in (1, 5))
    assert sum(long.sent.values()) < sum(short.sent.values())
    assert max(long.sent.values()) > max(short.sent.values())
    # Periods do not change where rows go.
    loads = [[record.loads for record in each.records.values()] for each in (short, long)]
    assert loads[0] == loads[1]
    assert short.sent == {number: record.replicas for number, record in short.records.items()}


@pytest.mark.spark
def test_batches_without_words_are_periods_too(spark, tmp_path):
    counts = counts_of(spark, tmp_path, "pkg", period=1, batches=[[], ["a"], []])
    assert counts.sent == {0: 0, 1: 1, 2: 0}
    assert counts.totals(spark, 0).collect() == []
    assert dict(counts.totals(spark).collect()) == {"a": 1}


@pytest.mark.spark
@pytest.mark.classic("the counts of a query are the driver's")
@pytest.mark.parametrize(
    ("program", "column"), [(wordcount.APP, "text"), (in_degree.APP, "source, target")]
)
def test_a_run_with_periods_is_right_and_says_what_it_sent(spark, tmp_path, program, column):
    rows = {
        "text": spark.createDataFrame(
            [("to be or not to be",), ("",), (None,)] * 20, "text string"
        ),
        "source, target": spark.createDataFrame(
            [(at % 7, at % 3 if at % 2 else None) for at in range(60)], "source int, target int"
        ),
    }[column]
    runner = Runner(program, rows, workers=3, batches=3, folder=tmp_path, period=2)
    for scheme in ("auto", "pkg"):
        found = runner.run(scheme)
        assert found.matches_reference
        assert found.batches == 3
        assert found.answer.figures["aggregation periods"] == 2
        assert found.answer.figures["messages to the aggregator"] >= 2 * 4
        assert found.max_over_mean >= 1
    lost = Runner(program, rows.limit(50), workers=3).run("pkg")
    assert not program.agrees(lost.answer, runner.reference)
