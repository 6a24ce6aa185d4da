"""The local cluster: its slots, speeds and logs, and what it rejects."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from unskew.errors import ParameterError
from unskew.testing import LocalCluster, Machine, emulated_work, machine_speed
from unskew.testing.cluster.emulation import SPEED_FILE
from unskew.testing.cluster.processes import Started, stop_all, wait_until


def test_impossible_machines_are_refused():
    with pytest.raises(ParameterError, match="slots=0"):
        LocalCluster(2, slots=0)
    with pytest.raises(ParameterError, match="speed=0"):
        Machine(speed=0)
    with pytest.raises(ParameterError, match="at least one machine"):
        LocalCluster([])


def test_slots_are_counted_over_all_machines():
    assert LocalCluster([Machine(slots=2, speed=0.3), Machine(slots=7)]).slots == 9


def test_work_takes_the_speed_of_its_machine(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(time, "sleep", asked.append)
    (tmp_path / "speed").write_text("0.25")
    emulated_work(1.0)
    monkeypatch.setenv(SPEED_FILE, str(tmp_path / "speed"))
    emulated_work(1.0)
    assert asked == [1.0, 4.0]


def test_processes_end_by_their_ids(tmp_path):
    stubborn = "trap '' TERM; touch ready; while true; do sleep 0.05; done"
    started = [Started.of(["sh", "-c", stubborn], os.environ, tmp_path / "log")]
    wait_until((tmp_path / "ready").exists, "the process", started)
    stop_all(started, patience=0.1)
    assert not started[0].is_up()


def test_a_process_that_ends_at_once_is_not_waited_for(tmp_path):
    started = [Started.of(["sh", "-c", "echo why; exit 3"], os.environ, tmp_path / "log")]
    with pytest.raises(ChildProcessError, match="log"):
        wait_until(lambda: False, "the process", started)
    assert (tmp_path / "log").read_text() == "why\n"


@pytest.mark.spark
@pytest.mark.long
class TestRunning:
    def test_speeds_reach_the_tasks(self, tmp_path):
        with LocalCluster([Machine(2), Machine(2, speed=0.5)]) as machines:
            spark = machines.session()
            assert speeds(spark, tmp_path / "before") == {1.0, 0.5}
            machines.set_speed(1, 0.25)
            assert speeds(spark, tmp_path / "after") == {1.0, 0.25}
            assert len(machines.executors()) == 2

    def test_logs_outlive_a_failure(self):
        machines = LocalCluster(1)
        with pytest.raises(ZeroDivisionError), machines:
            raise ZeroDivisionError
        assert not machines.processes
        assert (machines.folder / "master.log").exists()
        shutil.rmtree(machines.folder)

    def test_nothing_is_left_behind(self):
        with LocalCluster(1) as machines:
            assert machines.session().range(5).count() == 5
            pids = [each.pid for each in machines.processes]
        assert not machines.folder.exists()
        assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def speeds(spark, folder):
    """The speeds that tasks see; each waits until tasks of both machines run."""
    folder.mkdir()

    def measured(batches):
        import pyarrow as pa

        (folder / Path(os.environ[SPEED_FILE]).name).touch()
        end = time.monotonic() + 120
        while len(list(folder.iterdir())) < 2 and time.monotonic() < end:
            time.sleep(0.05)
        for _ in batches:
            yield pa.record_batch({"speed": pa.array([machine_speed()])})

    found = spark.range(0, 8, 1, 8).mapInArrow(measured, "speed double").collect()
    return {row.speed for row in found}
