"""Predictions are scikit-learn's on the same counts, and partial models merge into the whole."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.naive_bayes import MultinomialNB

from unskew_lab.apps import naive_bayes as app
from unskew_lab.apps.naive_bayes import Model
from unskew_lab.apps.running import Runner

_documents = st.lists(
    st.tuples(st.lists(st.sampled_from("abcdef"), max_size=6), st.sampled_from(["x", "y", "z"])),
    min_size=1,
    max_size=12,
)


def model_of(documents) -> Model:
    words, counted = {}, {}
    for document, label in documents:
        counted[label] = counted.get(label, 0) + 1
        for word in document:
            words[word, label] = words.get((word, label), 0) + 1
    return Model(words, counted)


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
    classify = model_of(documents).classifier()
    likely = known.predict_joint_log_proba(counts)
    for words, scores in zip(tried, likely, strict=True):
        chosen = scores[known.classes_.tolist().index(classify(words))]
        # Labels that are equally likely may be told apart by the last digit alone.
        assert chosen == pytest.approx(scores.max(), rel=1e-12)


@given(documents=_documents, cut=st.integers(0, 12))
def test_partial_models_merge_into_the_whole(documents, cut):
    merged = model_of(documents[:cut]).merged(model_of(documents[cut:]))
    assert merged == model_of(documents)


@pytest.mark.spark
def test_training_and_predictions_on_spark(spark):
    rows = app.random_documents(spark).limit(240).collect()
    documents = app.APP.prepare(spark.createDataFrame(rows, "text string, label string"))
    model = app.train(app.tokens(documents), "pkg", workers=3)
    learnt = documents.exceptAll(app.kept_back(documents)).collect()
    tried = app.kept_back(documents).collect()
    assert model == model_of([(row["text"].split(), row["label"]) for row in learnt])
    known, counts = learned_by_scikit(
        [(row["text"].split(), row["label"]) for row in learnt],
        [row["text"].split() for row in tried],
    )
    predicted = app.classified(app.kept_back(documents), model).collect()
    assert len(tried) > 20
    assert [row["predicted"] for row in predicted] == known.predict(counts).tolist()
    assert np.mean([row["predicted"] == row["label"] for row in predicted]) > 0.6


@pytest.mark.spark
def test_a_model_grows_with_a_stream(spark, tmp_path):
    documents = app.random_documents(spark).limit(240)
    found = Runner(app.APP, documents, workers=3, batches=2, folder=tmp_path).run("pkg")
    assert found.matches_reference
    assert found.batches == 2
    assert found.answer.figures["accuracy"] > 0.6
