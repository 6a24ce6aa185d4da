"""What a running query tells about its workers, and what its checkpoint tells about its state."""

from __future__ import annotations

import json
import time
from collections import Counter

import pytest
from tests.spark.frames import SCHEMA, awkward
from tests.spark.streams import read_batches, run_stream, write_batches

import unskew
from unskew._spark.monitoring.feeds import exposition, lines_feed
from unskew.display import printable
from unskew.errors import InputError

pytestmark = pytest.mark.spark


def test_batches_are_watched_and_their_state_is_diagnosed(spark, tmp_path, capsys):
    rows = [tuple(row) for row in awkward(spark, 90).collect()]
    schema = write_batches(spark, tmp_path / "in", SCHEMA, [rows[:60], rows[60:]])
    stream = read_batches(spark, tmp_path / "in", schema)
    heard: list[unskew.streaming.BatchProgress] = []
    in_files: list[unskew.streaming.BatchProgress] = []

    def hear(record: unskew.streaming.BatchProgress) -> None:
        in_files.append(unskew.streaming.read_lines(tmp_path / "feed")[-1])
        heard.append(record)

    listener = unskew.streaming.watch(
        spark, hear, folder=tmp_path / "feed", prometheus=tmp_path / "unskew.prom"
    )
    try:
        grouped = unskew.streaming.groupBy(stream, "word", workers=3, scheme="pkg")
        run_stream(grouped.agg(n=unskew.count()), "update", tmp_path)
        until = time.monotonic() + 600
        while len(heard) < 2 and time.monotonic() < until:
            time.sleep(0.1)
    finally:
        spark.streams.removeListener(listener)
    assert [(each.batch, each.rows, each.workers) for each in heard] == [(0, 60, 3), (1, 30, 3)]
    assert heard == in_files == unskew.streaming.read_lines(tmp_path / "feed")
    words = [len({row[1] for row in part}) for part in (rows[:60], rows[60:])]
    for record, keys in zip(heard, words, strict=True):
        assert sum(record.loads) == record.rows
        assert keys <= record.replicas <= 2 * keys
    counts = Counter(printable(row[1]) for row in rows[:60])
    assert heard[0].hottest[0][1] == max(counts.values())
    assert all(counts[key] == load for key, load in heard[0].hottest[:3])
    assert (tmp_path / "unskew.prom").read_text() == exposition(heard[1], "all")

    found = unskew.diagnose_state(str(tmp_path / "checkpoint"), spark=spark)
    assert (found.kind, found.batch, len(found.stores)) == ("spark", 1, 1)
    assert found.stores[0].total == len({row[1] for row in rows})
    assert found.to_pandas()["load"].sum() == found.stores[0].total
    assert json.loads(found.to_json())["stores"][0]["unit"] == "rows"
    assert "stateStoreSave" in found.to_html()
    found.show()
    assert "max/mean" in capsys.readouterr().out


def test_lines_cut_short_by_a_crash_are_passed_over(tmp_path):
    feed = lines_feed(tmp_path)
    first, again = (
        unskew.streaming.BatchProgress.of(batch=0, loads=[2, 1], seconds=s) for s in (1.0, 2.0)
    )
    feed(first)
    with (tmp_path / "batches.jsonl").open("a") as file:
        file.write(first.to_json()[:20])
    lines_feed(tmp_path)(again)  # As the next driver does.
    assert unskew.streaming.read_lines(tmp_path) == [again]


def test_what_is_no_checkpoint_is_refused(spark, tmp_path):
    with pytest.raises(InputError, match="holds no state; pass the checkpointLocation"):
        unskew.diagnose_state(str(tmp_path / "nothing"), spark=spark)
