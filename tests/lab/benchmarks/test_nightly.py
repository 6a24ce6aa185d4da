"""The benchmark of a job that runs every night: few rows, all that its figures say but the time."""

from __future__ import annotations

import pytest

from unskew_lab.benchmarks import nightly

pytestmark = pytest.mark.spark


def test_only_the_first_night_runs_jobs_beside(spark, monkeypatch):
    monkeypatch.setattr(nightly, "NIGHTS", 2)
    monkeypatch.setattr(nightly, "ROWS", 400)
    monkeypatch.setattr(nightly, "KEYS", 40)
    monkeypatch.setattr(nightly, "RENEWED", (5,))
    monkeypatch.setattr(nightly, "new_session", lambda slots: spark)
    rows = list(nightly.run())
    nights = [row for row in rows if isinstance(row, nightly.Night)]
    assert [night.jobs_beside > 0 for night in nights] == [True, False, True, False]
    assert all(1 <= night.ratio <= nightly.SLOTS for night in nights)
    assert [row.met for row in rows if row not in nights] == [True, True]


def test_some_keys_are_new_each_night(spark, tmp_path):
    job = nightly._Job(spark, tmp_path, "job", None, 5)
    names = []
    for night in (1, 2):
        keys = job.rows(night).select("key").distinct().collect()
        names.append(dict(row.key.rsplit("-", 1) for row in keys))
    before, after = names
    both = before.keys() & after.keys()
    assert sum(before[key] == after[key] for key in both) / len(both) == pytest.approx(
        0.8, abs=0.05
    )
