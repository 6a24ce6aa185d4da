"""The most frequent words of a text: a mergeable count by word.

    lines ──> words ──(word: scheme)──> workers: count ──> merge by word ──> the highest counts

On a stream the workers hand their counts on at the end of every micro-batch, or once in several:
the aggregation period of the papers. A longer one costs latency and saves merging.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

import unskew
from unskew.rebalancing import ALL as PLANNERS
from unskew.rebalancing import Rebalancer
from unskew.workloads import ZipfStream
from unskew_lab.apps.aggregation_periods import answer_by_periods
from unskew_lab.apps.contract import Answer, App, Scheme
from unskew_lab.apps.keyed_state import (
    APPLY,
    STORE,
    TRANSFORM,
    counted_by_spark,
    on_spark,
    run_to_end,
    with_cost,
)
from unskew_lab.apps.ranking import ranked, same
from unskew_lab.apps.replaying import Replay
from unskew_lab.apps.rising_counts import answer_at_end
from unskew_lab.session import spark_settings

WORDS_PER_LINE = 20


def word_counts(words: DataFrame, scheme: Scheme = "auto", workers: int = 8) -> DataFrame:
    """Each `word` with the number of times it occurs, `count`; on a stream, so far.

    On a stream the aggregation period is the micro-batch: at its end the workers' counts are
    merged into the state. `aggregation_periods` has longer ones.
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


class Count(unskew.streaming.Processor):
    """Counts the rows of a key."""

    def process(self, key: Any, rows: pa.Table, state: Any) -> Any:
        """The count so far, which is the state too."""
        n = rows.num_rows + (state["n"] if state else 0)
        return [{"word": key, "count": n}], {"n": n}


def counts_kept(
    words: DataFrame,
    checkpoint: str,
    scheme: str | Rebalancer = "mixed",
    workers: int = 8,
    seconds: float = 0.0,
) -> unskew.streaming.StatefulStream:
    """The same counts of a stream as keyed state: a word is whole, on one worker, and may move."""
    return unskew.streaming.stateful(
        words,
        "word",
        with_cost(Count(), seconds),
        schema="word string, count bigint",
        state_schema="n bigint",
        rebalancer=scheme,
        cost="seconds" if seconds else "rows",  # Of little work, seconds are mostly chance.
        workers=workers,
        checkpoint=checkpoint,
    )


def _stream(words: Replay, scheme: Any, workers: int) -> Answer:
    folder = words.scratch()
    if scheme in (TRANSFORM, APPLY):
        with spark_settings(words.rows.sparkSession, STORE):
            counts = counted_by_spark(words.stream(), "word", scheme, words.cost)
            found = answer_at_end(counts, folder, _ranked)
        return on_spark(found, words.rows, "word", workers)
    if scheme in PLANNERS or isinstance(scheme, Rebalancer):
        stream = counts_kept(words.stream(), f"{folder}/state", scheme, workers, words.cost)
        batches = run_to_end(stream, f"{folder}/counts")
        counts = words.rows.sparkSession.read.parquet(f"{folder}/counts")
        found = _ranked(counts.groupBy("word").agg(F.max("count").alias("count")))
        return Answer(found.rows, found.figures, batches=batches)
    if words.period:
        return answer_by_periods(
            words,
            words.stream(),
            "word",
            scheme,
            workers,
            lambda totals: _ranked(totals.withColumnRenamed("n", "count")),
        )
    return answer_at_end(word_counts(words.stream(), scheme, workers), folder, _ranked)


APP = App(
    name="wordcount",
    key=("word",),
    columns=("text",),
    need=unskew.Need.MERGEABLE,
    schemes=("planned-split", "pkg", "kg"),
    stream_schemes=("planned-split", "pkg", "kg", "mixed", TRANSFORM, APPLY),
    names=(*PLANNERS, TRANSFORM, APPLY),
    keeps_state=True,
    periods=True,
    generate=random_text,
    prepare=words_of,
    run=lambda words, scheme, workers: _ranked(word_counts(words, scheme, workers)),
    stream=_stream,
    reference=lambda words: _ranked(words.groupBy("word").count()),
    agrees=same,
)
