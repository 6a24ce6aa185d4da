"""Predictions are scikit-learn's on the same counts, and partial counters merge."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.naive_bayes import MultinomialNB

from unskew_lab.apps import naive_bayes as app
from unskew_lab.apps.label_counts import LabelCounts
from unskew_lab.apps.naive_bayes import Classes
from unskew_lab.apps.running import Runner

_documents = st.lists(
    st.tuples(st.lists(st.sampled_from("abcdef"), max_size=6), st.sampled_from(["x", "y", "z"])),
    min_size=1,
    max_size=12,
)


def counted(documents) -> tuple[Classes, dict[str, Counter]]:
    counters, by_label, words = {}, Counter(), Counter()
    for document, label in documents:
        by_label[label] += 1
        words[label] += len(document)
        for word in document:
            counters.setdefault(word, Counter())[label] += 1
    return Classes(by_label, words, len(counters)), counters


def classify(documents, words):
    classes, counters = counted(documents)
    known = [
        [counters[word][label] for label in classes.labels] for word in words if word in counters
    ]
    return classes.likeliest(np.array(known, dtype=float).reshape(-1, len(classes.labels)))


def learned_by_scikit(documents, tried):
    vocabulary = sorted({word for document, _ in documents for word in document})

    def counts(document):
        return [document.count(word) for word in vocabulary]

    known = MultinomialNB().fit(
        [counts(words) for words, _ in documents], [y for _, y in documents]
    )
    return known, np.array([counts(words) for words in tried])


@given(documents=_documents, tried=st.lists(st.lists(st.sampled_from("abcdefg")), max_size=5))
def test_predictions_are_as_likely_as_those_of_scikit_learn(documents, tried):
    if not any(words for words, _ in documents) or not tried:
        return
    known, counts = learned_by_scikit(documents, tried)
    likely = known.predict_joint_log_proba(counts)
    for words, scores in zip(tried, likely, strict=True):
        chosen = scores[known.classes_.tolist().index(classify(documents, words))]
        # Labels that are equally likely may be told apart by the last digit alone.
        assert chosen == pytest.approx(scores.max(), rel=1e-12)


@given(labels=st.lists(st.sampled_from("xyz")), cut=st.integers(0, 12))
def test_partial_counters_merge_into_the_whole(labels, cut):
    aggregate = LabelCounts("label")

    def added(part):
        rows = pa.record_batch({"label": pa.array(part, pa.string())})
        return aggregate.add(aggregate.zero(), rows)

    both = aggregate.merge(added(labels[:cut]), added(labels[cut:]))
    assert both == Counter(labels)
    assert [each["label"] for each in aggregate.result(both)] == sorted(set(labels))


@pytest.mark.spark
def test_words_ask_their_counters_and_answers_meet_by_document(spark):
    rows = app.random_documents(spark).limit(240).collect()
    rows += [("", "art"), ("neverseen", "law"), ("w1 neverseen w1", "law")] * 5
    documents = app.APP.prepare(spark.createDataFrame(rows, "text string, label string"))
    learnt = [
        (words_of(row), row["label"])
        for row in documents.exceptAll(app.kept_back(documents)).collect()
    ]
    counters = app.class_counters(app.tokens(documents), "pkg", workers=3)
    expected = Counter((word, label) for words, label in learnt for word in [*words, None])
    found = counters.collect()
    assert {(row["word"], row["label"]): row["count"] for row in found} == expected
    tried = app.kept_back(documents).collect()
    known, counts = learned_by_scikit(learnt, [words_of(row) for row in tried])
    predicted = app.classified(app.kept_back(documents), counters, workers=3).collect()
    assert len(tried) > 20
    assert Counter((row["label"], row["predicted"]) for row in predicted) == Counter(
        zip([row["label"] for row in tried], known.predict(counts).tolist(), strict=True)
    )
    assert np.mean([row["predicted"] == row["label"] for row in predicted]) > 0.6


def words_of(row):
    return row["text"].split()


def test_the_key_is_the_word():
    assert app.APP.key == ("word",)


@pytest.mark.spark
def test_a_model_grows_with_a_stream(spark, tmp_path):
    documents = app.random_documents(spark).limit(240)
    found = Runner(app.APP, documents, workers=3, batches=2, folder=tmp_path).run("pkg")
    assert found.matches_reference
    assert found.batches == 2
    assert found.answer.figures["accuracy"] > 0.6
