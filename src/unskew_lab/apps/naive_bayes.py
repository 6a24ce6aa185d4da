"""Multinomial naive Bayes: counters by word, trained in parallel, merged, asked word by word.

    documents ──> (word, label) ──(word: scheme)──> workers: count by label ──> merge by word
    other documents ──> their words ──(word)──> the counters ──(document)──> the likeliest label

Frequent words are skewed, counters are mergeable: the first application of the paper on partial
key grouping (section 2), keyed as there, by the word. On a stream the counters grow with every
micro-batch. One document in five is kept back to measure the accuracy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import unskew
from unskew.errors import InputError
from unskew.workloads import ZipfStream
from unskew_lab.apps.contract import Answer, App, Scheme
from unskew_lab.apps.label_counts import LabelCounts
from unskew_lab.apps.ranking import same
from unskew_lab.apps.replaying import Replay
from unskew_lab.apps.rising_counts import answer_at_end
from unskew_lab.apps.wordcount import words_in

KEPT_BACK = 5
"""One document in so many is not trained on."""
SMOOTHING = 1.0
"""What is added to every counter: Laplace's rule."""
_PREDICTED = "document bigint, label string, predicted string"


@dataclass(frozen=True)
class Classes:
    """What is known of the classes as a whole, which every answer of a counter needs."""

    documents: Mapping[str, int]
    """By label."""
    words: Mapping[str, int]
    """By label, each as often as it occurs."""
    vocabulary: int
    """Different words."""

    @classmethod
    def of(cls, counters: DataFrame) -> Classes:
        """Sums over all counters, in one job."""
        is_word = F.col("word").isNotNull()
        found = counters.groupBy("label").agg(
            F.sum(F.when(is_word, F.col("count"))).alias("words"),
            F.sum(F.when(~is_word, F.col("count"))).alias("documents"),
        )
        rows = found.collect()
        different = counters.agg(F.count_distinct("word")).first()
        assert different is not None
        return cls(
            {row["label"]: row["documents"] for row in rows},
            {row["label"]: row["words"] or 0 for row in rows},
            different[0],
        )

    @property
    def labels(self) -> list[str]:
        """In order; the first of equally likely ones is chosen."""
        return sorted(self.documents)

    def likeliest(self, counts: NDArray[np.float64]) -> str:
        """The label of a document, given the counters of its words: a row of counts by label."""
        words = np.array([self.words[label] for label in self.labels], dtype=float)
        each = np.log(counts + SMOOTHING) - np.log(words + SMOOTHING * self.vocabulary)
        prior = np.log([self.documents[label] for label in self.labels])
        return self.labels[int(np.argmax(prior + each.sum(axis=0)))]


def class_counters(words: DataFrame, scheme: Scheme = "auto", workers: int = 8) -> DataFrame:
    """Each `word` with its `count` in each `label`; on a stream, the counts so far.

    A row without a word stands for its document.
    """
    group = unskew.streaming.groupBy if words.isStreaming else unskew.groupBy
    grouped = group(words, "word", workers=workers, scheme=scheme)
    return _apart(grouped.agg(counts=LabelCounts("label")))


def _apart(counted: DataFrame) -> DataFrame:
    return counted.select("word", F.inline("counts"))


def tokens(documents: DataFrame) -> DataFrame:
    """(word, label) of the documents to learn from, and (null, label) once for each."""
    words = F.array_append(words_in("text"), F.lit(None).cast("string"))
    return documents.where(~_is_kept_back()).select(F.explode(words).alias("word"), "label")


def kept_back(documents: DataFrame) -> DataFrame:
    """The documents that the model is tested on."""
    return documents.where(_is_kept_back())


def _is_kept_back() -> Column:
    return F.pmod(F.xxhash64("text", "label"), F.lit(KEPT_BACK)) == 0


def classified(documents: DataFrame, counters: DataFrame, workers: int = 8) -> DataFrame:
    """The `predicted` label of each `document`, a number, beside its true `label`.

    Every word of a document asks the counters of that word; what they answer is brought together
    by document. Words that no counter knows say nothing.
    """
    classes = Classes.of(counters)
    if not classes.documents:
        raise InputError("naive-bayes has no documents to train on; give it more rows")
    asking = documents.select(
        F.monotonically_increasing_id().alias("document"), "label", words_in("text").alias("words")
    )
    # One row is the document itself: it may have no word that is known, or none at all.
    words = F.array_append("words", F.lit(None).cast("string"))
    asked = asking.select("document", "label", F.posexplode(words).alias("place", "word"))
    by_word = counters.where("word is not null").groupBy("word")
    known = by_word.agg(F.map_from_entries(F.collect_list(F.struct("label", "count"))).alias("by"))
    answers = unskew.join(asked, known, "word", "left", workers=workers)
    gathered = unskew.groupBy(answers, "document", workers=workers, scheme="kg")
    return gathered.applyInArrow(_combined(classes), _PREDICTED)


def _combined(classes: Classes) -> Callable[[pa.Table], pa.Table]:
    labels = classes.labels

    def combined(answers: pa.Table) -> pa.Table:
        # In the order of the document: sums of logarithms depend on it in the last digit.
        rows = answers.sort_by("place").select(["by"]).to_pylist(maps_as_pydicts="strict")
        found = [row["by"] for row in rows if row["by"] is not None]
        counts = np.array([[by.get(label, 0) for label in labels] for by in found], dtype=float)
        best = classes.likeliest(counts.reshape(-1, len(labels)))
        first = answers.slice(0, 1).select(["document", "label"])
        return first.append_column("predicted", pa.array([best], pa.string()))

    return combined


def _answer(documents: DataFrame, counters: DataFrame, workers: int) -> Answer:
    kept = counters.persist()
    try:
        right = F.count_if(F.col("label") == F.col("predicted"))
        by_label = classified(kept_back(documents), kept, workers).groupBy("label")
        found = by_label.agg(F.count("*").alias("documents"), right.alias("right"))
        rows = [row.asDict() for row in found.orderBy("label").collect()]
        only = kept.where("word is not null")
        sizes = only.agg(F.count("*").alias("n"), F.sum("count").alias("counted")).first()
    finally:
        kept.unpersist()
    assert sizes is not None
    tried = sum(row["documents"] for row in rows)
    figures = {
        "accuracy": sum(row["right"] for row in rows) / tried if tried else 0.0,
        "counters": sizes["n"],
        "counted": sizes["counted"] or 0,
    }
    return Answer(rows, figures)


def _run(documents: DataFrame, scheme: Scheme, workers: int) -> Answer:
    return _answer(documents, class_counters(tokens(documents), scheme, workers), workers)


def _stream(documents: Replay, scheme: Scheme, workers: int) -> Answer:
    counters = class_counters(tokens(documents.stream()), scheme, workers)
    return answer_at_end(
        counters, documents.scratch(), lambda last: _answer(documents.rows, last, workers)
    )


def _reference(documents: DataFrame) -> Answer:
    """Plain Spark's counts, and a classifier that has all of them in memory."""
    counters: dict[str, Counter[str]] = {}
    by_label: Counter[str] = Counter()
    for word, label, count in tokens(documents).groupBy("word", "label").count().collect():
        if word is None:
            by_label[label] = count
        else:
            counters.setdefault(word, Counter())[label] = count
    words = {label: sum(each[label] for each in counters.values()) for label in by_label}
    classes = Classes(by_label, words, len(counters))
    tried: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for text, label in kept_back(documents).select(words_in("text"), "label").collect():
        known = [
            [counters[word][each] for each in classes.labels] for word in text if word in counters
        ]
        found = classes.likeliest(np.array(known, dtype=float).reshape(-1, len(by_label)))
        tried[label] += 1
        right[label] += found == label
    figures = {
        "accuracy": sum(right.values()) / sum(tried.values()) if tried else 0.0,
        "counters": sum(map(len, counters.values())),
        "counted": sum(words.values()),
    }
    rows = [
        {"label": label, "documents": tried[label], "right": right[label]}
        for label in sorted(tried)
    ]
    return Answer(rows, figures)


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
    key=("word",),
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
