"""The most frequent words of a text: a mergeable count by word.

    lines ──> words ──(word: scheme)──> workers: count ──> merge by word ──> the highest counts

On a stream the workers hand their counts on at the end of every micro-batch, the aggregation period
of the papers: a longer one costs latency and saves merging.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import unskew
from unskew.workloads import ZipfStream
from unskew_lab.apps.contract import Answer, App, Scheme
from unskew_lab.apps.ranking import ranked, same
from unskew_lab.apps.replaying import Replay
from unskew_lab.apps.rising_counts import answer_at_end

WORDS_PER_LINE = 20


def word_counts(words: DataFrame, scheme: Scheme = "auto", workers: int = 8) -> DataFrame:
    """Each `word` with the number of times it occurs, `count`; on a stream, so far.

    On a stream the aggregation period is the micro-batch: at its end the workers' counts are
    merged into the state.
    """
    group = unskew.streaming.groupBy if words.isStreaming else unskew.groupBy
    return group(words, "word", workers=workers, scheme=scheme).agg(count=unskew.count())


def words_in(text: str) -> Column:
    """The words of a column of text, in lower case and without punctuation, as an array."""
    return F.array_remove(F.split(F.lower(text), r"[^\p{L}\p{N}']+"), "")


def words_of(text: DataFrame) -> DataFrame:
    """One row for each word of the column `text`."""
    return text.select(F.explode(words_in("text")).alias("word"))


def random_text(spark: SparkSession) -> DataFrame:
    """10,000 lines of 20 words, drawn from 20,000 by Zipf's law."""
    drawn = np.concatenate(list(ZipfStream(1.0, 20_000, 10_000 * WORDS_PER_LINE).ids()))
    lines = np.char.add("w", drawn.astype(str)).reshape(-1, WORDS_PER_LINE)
    return spark.createDataFrame(pa.table({"text": [" ".join(line) for line in lines]}))


def _ranked(counts: DataFrame) -> Answer:
    return ranked(counts, "word", count="count")


def _stream(words: Replay, scheme: Scheme, workers: int) -> Answer:
    return answer_at_end(word_counts(words.stream(), scheme, workers), words.scratch(), _ranked)


APP = App(
    name="wordcount",
    key=("word",),
    columns=("text",),
    need=unskew.Need.MERGEABLE,
    schemes=("planned-split", "pkg", "kg"),
    generate=random_text,
    prepare=words_of,
    run=lambda words, scheme, workers: _ranked(word_counts(words, scheme, workers)),
    stream=_stream,
    reference=lambda words: _ranked(words.groupBy("word").count()),
    agrees=same,
)
