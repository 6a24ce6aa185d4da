"""Multinomial naive Bayes: word counts by class, trained in parallel, merged, used to classify.

    documents ──> (word, label) ──(scheme)──> workers: count ──> merge: the model
    other documents ──> the most likely label by the model

Frequent words are skewed, counters are mergeable: the first application of the paper on partial
key grouping (section 2). On a stream the model grows with every micro-batch. One document in five
is kept back to measure the accuracy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import unskew
from unskew.errors import InputError
from unskew.workloads import ZipfStream
from unskew_lab.apps.contract import Answer, App, Scheme
from unskew_lab.apps.ranking import same
from unskew_lab.apps.replaying import Replay
from unskew_lab.apps.rising_counts import answer_at_end
from unskew_lab.apps.wordcount import words_in

KEPT_BACK = 5
"""One document in so many is not trained on."""


@dataclass(frozen=True)
class Model:
    """How often each word occurs in each class, and how many documents each class has."""

    words: Mapping[tuple[str, str], int]
    """By (word, label)."""
    documents: Mapping[str, int]
    """By label."""
    smoothing: float = 1.0

    def merged(self, other: Model) -> Model:
        """The model of both models' documents."""
        words = Counter(self.words) + Counter(other.words)
        return Model(words, Counter(self.documents) + Counter(other.documents), self.smoothing)

    def classifier(self) -> Callable[[list[str]], str]:
        """From the words of a document to its most likely label, the first of equal ones."""
        labels = sorted(self.documents)
        rank = {word: i for i, word in enumerate(sorted({word for word, _ in self.words}))}
        counts = np.zeros((len(rank), len(labels)))
        for (word, label), count in self.words.items():
            counts[rank[word], labels.index(label)] = count
        smooth = counts + self.smoothing
        likelihood = np.log(smooth) - np.log(smooth.sum(axis=0))
        prior = np.log([self.documents[label] for label in labels])

        def classify(words: list[str]) -> str:
            known = [rank[word] for word in words if word in rank]
            return labels[int(np.argmax(prior + likelihood[known].sum(axis=0)))]

        return classify


def train(words: DataFrame, scheme: Scheme = "auto", workers: int = 8) -> Model:
    """The model of rows (word, label); a row without a word stands for its document."""
    return model_of(class_counts(words, scheme, workers))


def class_counts(words: DataFrame, scheme: Scheme = "auto", workers: int = 8) -> DataFrame:
    """Each pair of `word` and `label` with its `count`; on a stream, the count so far."""
    group = unskew.streaming.groupBy if words.isStreaming else unskew.groupBy
    return group(words, "word", "label", workers=workers, scheme=scheme).agg(count=unskew.count())


def model_of(counts: DataFrame) -> Model:
    """The model made of the counts."""
    words: dict[tuple[str, str], int] = {}
    documents: dict[str, int] = {}
    for word, label, count in counts.collect():
        if word is None:
            documents[label] = count
        else:
            words[word, label] = count
    return Model(words, documents)


def tokens(documents: DataFrame) -> DataFrame:
    """(word, label) of the documents to learn from, and (null, label) once for each."""
    words = F.array_append(words_in("text"), F.lit(None).cast("string"))
    return documents.where(~_is_kept_back()).select(F.explode(words).alias("word"), "label")


def kept_back(documents: DataFrame) -> DataFrame:
    """The documents that the model is tested on."""
    return documents.where(_is_kept_back())


def _is_kept_back() -> Column:
    return F.pmod(F.xxhash64("text", "label"), F.lit(KEPT_BACK)) == 0


def classified(documents: DataFrame, model: Model) -> DataFrame:
    """The true `label` and the `predicted` one of each document."""

    def predict(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        classify = model.classifier()
        for batch in batches:
            found = [classify(words) for words in batch.column("words").to_pylist()]
            names = pa.array(found, pa.string())
            yield pa.record_batch({"label": batch.column("label"), "predicted": names})

    split = documents.select("label", words_in("text").alias("words"))
    return split.mapInArrow(predict, "label string, predicted string")


def _answer(documents: DataFrame, model: Model) -> Answer:
    if not model.documents:
        raise InputError("naive-bayes has no documents to train on; give it more rows")
    right = F.count_if(F.col("label") == F.col("predicted"))
    by_label = classified(kept_back(documents), model).groupBy("label")
    found = by_label.agg(F.count("*").alias("documents"), right.alias("right"))
    rows = [row.asDict() for row in found.orderBy("label").collect()]
    tried = sum(row["documents"] for row in rows)
    figures = {
        "accuracy": sum(row["right"] for row in rows) / tried if tried else 0.0,
        "counters": len(model.words),
        "counted": sum(model.words.values()),
    }
    return Answer(rows, figures)


def _run(documents: DataFrame, scheme: Scheme, workers: int) -> Answer:
    return _answer(documents, train(tokens(documents), scheme, workers))


def _stream(documents: Replay, scheme: Scheme, workers: int) -> Answer:
    counts = class_counts(tokens(documents.stream()), scheme, workers)
    return answer_at_end(
        counts, documents.scratch(), lambda last: _answer(documents.rows, model_of(last))
    )


def _reference(documents: DataFrame) -> Answer:
    counts = tokens(documents).groupBy("word", "label").count()
    return _answer(documents, model_of(counts))


def _as_text(documents: DataFrame) -> DataFrame:
    both = documents.where("text is not null and label is not null")
    return both.select("text", F.col("label").cast("string").alias("label"))


def random_documents(spark: SparkSession) -> DataFrame:
    """3,000 documents of 20 words in three classes, which prefer different words."""
    drawn = np.concatenate(list(ZipfStream(0.8, 3_000, 60_000).ids())).reshape(-1, 20)
    label = np.arange(3_000) % 3
    # Half of the words are common to all classes; of the others each class has its own order.
    own = np.arange(20) < 10
    shifted = np.where(own, (drawn + 400 * label[:, None]) % 3_000, drawn)
    texts = [" ".join(f"w{word}" for word in words) for words in shifted]
    names = np.array(["art", "law", "sport"])[label]
    return spark.createDataFrame(pa.table({"text": texts, "label": names.tolist()}))


APP = App(
    name="naive-bayes",
    key=("word", "label"),
    columns=("text", "label"),
    need=unskew.Need.MERGEABLE,
    schemes=("planned-split", "pkg", "kg"),
    generate=random_documents,
    prepare=_as_text,
    routed=tokens,
    run=_run,
    stream=_stream,
    reference=_reference,
    agrees=same,
)
