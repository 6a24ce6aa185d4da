"""A stream of the cluster's figures from a real broker: the rows are those of the files."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from unskew.testing import LocalCluster
from unskew.testing.cluster.kafka_broker import KafkaBroker
from unskew_lab.cluster.inputs import ZipfBatches
from unskew_lab.cluster.machines import SETTINGS, SOURCES, Running, session_jars, using
from unskew_lab.cluster.streamed import Streamed

JARS = os.environ.get("UNSKEW_KAFKA_JARS")


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.classic("the cluster's sessions are classic")
@pytest.mark.skipif(JARS is None, reason="UNSKEW_KAFKA_JARS names no folder of jars")
def test_rows_come_from_eight_partitions(tmp_path):
    jars = Path(str(JARS))
    stream = ZipfBatches("test", 1.2, 50, rows=800, batches=2)
    with LocalCluster(1, slots=2, folder=tmp_path / "cluster") as cluster:
        place = cluster.folder / "kafka"
        with KafkaBroker(jars / "broker", place, partitions=SOURCES) as broker:
            session = cluster.session({**SETTINGS, **session_jars(jars)})
            (cluster.folder / "warm").touch()
            with using(Running(cluster, session, broker)) as up:
                rows = Streamed(stream, "PKG", 0.05, workers=2).measure()
                assert [row["rows"] for row in rows] == [800, 800]
                topic = up.spark.read.format("kafka").option("subscribe", stream_topic(up))
                found = topic.option("kafka.bootstrap.servers", broker.address).load()
                keys = [int(row.key) for row in found.select("key").collect()]
                assert {row.partition for row in found.select("partition").collect()} == set(
                    range(SOURCES)
                )
    assert sorted(keys) == sorted(np.concatenate(list(stream.ids())).tolist())


def stream_topic(up):
    [topic] = (up.folder / "topics").iterdir()
    return topic.name
