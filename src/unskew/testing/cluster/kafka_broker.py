"""A real Kafka broker on this machine, in KRaft mode, from its published jars."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path
from typing import Self

from unskew.testing.cluster.processes import Started, free_port, stop_all, wait_until

_CLUSTER = "dW5za2V3LXRlc3RpbmctMA"
_PROPERTIES = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
log.dirs={folder}/data
num.partitions={partitions}
auto.create.topics.enable=false
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
"""


class KafkaBroker:
    """One broker that is its own controller, on the loopback; topics live in `folder`.

    `jars` is a folder with `kafka_2.13` and all that it needs. Restarting keeps the ports and the
    topics. Topics must be created: one that springs up under a producer's first records made
    Kafka 4.3 refuse them for being out of order, forever.
    """

    def __init__(self, jars: Path, folder: Path, *, partitions: int = 8) -> None:
        self.jars = jars
        self.folder = folder
        self.partitions = partitions
        self.port, self.controller = free_port(), free_port()
        self._started: list[Started] = []

    @property
    def address(self) -> str:
        """For `kafka.bootstrap.servers`."""
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "server.properties").write_text(
            _PROPERTIES.format(
                port=self.port,
                controller=self.controller,
                folder=self.folder,
                partitions=self.partitions,
            )
        )
        arguments = ["format", "-t", _CLUSTER, "-c", "server.properties"]
        command = [*self._java("256m"), "kafka.tools.StorageTool", *arguments]
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True)
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start, and wait until clients can connect."""
        command = [*self._java("512m"), "kafka.Kafka", "server.properties"]
        log = self.folder / "broker.log"
        self._started = [Started.of(command, os.environ, log)]
        wait_until(self._accepts, "the broker", self._started)

    def stop(self) -> None:
        """Stop in an orderly manner, if possible."""
        stop_all(self._started)
        self._started = []

    def create_topics(self, *names: str) -> None:
        """New topics with the broker's number of partitions; needs `unskew[kafka]`."""
        from kafka.admin import KafkaAdminClient, NewTopic

        admin = KafkaAdminClient(bootstrap_servers=self.address)
        wanted = [NewTopic(name, self.partitions, 1) for name in names]
        admin.create_topics(wanted, wait_for_metadata=True)
        admin.close()

    def kill(self) -> None:
        """Kill at once, as in a crash."""
        for each in self._started:
            each.signal(signal.SIGKILL)
        self.stop()

    def _java(self, memory: str) -> list[str]:
        java = shutil.which("java") or "java"
        return [java, f"-Xmx{memory}", "-cp", f"{self.jars}/*"]

    def _accepts(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False
