"""Options parsed into settings, partitioners, streams and machines."""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Sequence
from pathlib import Path
from typing import Any, cast

from unskew.errors import ParameterError
from unskew.partitioners import PLANNED, ConsistentGrouping, Partitioner, scheme_named
from unskew.partitioners.contract import check_workers
from unskew.partitioners.serialization import build
from unskew.partitioners.serialization import parse_settings as parse_fields
from unskew.simulator.arrivals import Service, Traffic
from unskew.simulator.cluster import Cluster
from unskew.simulator.signalling import Signalling
from unskew.sketches.key_counts import KeyCounts
from unskew.workloads import FileStream, LogNormalStream, Stream, ZipfStream


def parse_settings(
    words: Sequence[str], option: str = "--set", example: str = "choices=3"
) -> dict[str, str]:
    """The settings as names and values; a dash in a name is an underscore.

    >>> parse_settings(["source-by=key", "choices=3"])
    {'source_by': 'key', 'choices': '3'}
    """
    settings: dict[str, str] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not (name and equals and value):
            raise ParameterError(f"{option} {word!r} is not NAME=VALUE, such as {example}")
        settings[name.replace("-", "_")] = value
    return settings


def partitioner_for(
    scheme: str, workers: int, settings: dict[str, str], stream: Stream
) -> Partitioner:
    """Build a partitioner; pass it the key counts of the stream if it has that field."""
    partitioner = build(scheme, workers, settings)
    if wants_counts(scheme):
        counts = KeyCounts.of(stream.chunks())
        partitioner = dataclasses.replace(partitioner, counts=counts)  # type: ignore[type-var]
    return partitioner


def scheme_from(
    scheme: str, workers: int, settings: dict[str, str]
) -> tuple[str | Partitioner, dict[str, Any]]:
    """What `unskew.plan` takes: a scheme with its settings, and those of the plan made for it."""
    if scheme not in ("auto", *PLANNED):
        return build(scheme, workers, settings), {}
    from unskew._spark.planning.settings import PlanSettings

    values = parse_fields(scheme, PlanSettings, settings)
    PlanSettings.of(values, workers)
    return scheme, values


def wants_counts(scheme: str) -> bool:
    """Whether a scheme plans from the counts of all keys."""
    fields = dataclasses.fields(scheme_named(scheme))  # type: ignore[arg-type]
    return any(field.name == "counts" for field in fields)


def stream_from(
    input_file: Path | None,
    key: Sequence[str],
    zipf: float | None,
    lognormal: str | None,
    keys: int,
    messages: int,
    seed: int,
) -> Stream:
    """The stream that the options describe; raises unless exactly one is given."""
    given = [input_file is not None, zipf is not None, lognormal is not None]
    if sum(given) != 1:
        raise ParameterError(
            "give exactly one stream: --input FILE --key COLUMN, --zipf EXPONENT, "
            "or --lognormal MU,SIGMA"
        )
    if key and input_file is None:
        raise ParameterError("--key requires --input FILE")
    if input_file is not None:
        return FileStream(input_file, tuple(key))
    if zipf is not None:
        return ZipfStream(zipf, keys, messages, seed)
    mu, sigma = _two_numbers(lognormal or "")
    return LogNormalStream(mu, sigma, messages, seed)


def signalling_from(words: Sequence[str], queues: bool) -> Signalling:
    """When workers signal; raises if there are no queues to signal for."""
    if words and not queues:
        raise ParameterError(
            "--signals requires the queueing simulation; add --rate or --capacities"
        )
    settings = parse_settings(words, "--signals", "busy=0.9")
    return Signalling(**parse_fields("--signals", Signalling, settings))


def on_machines(
    partitioner: Partitioner, cluster: Cluster, settings: Container[str]
) -> Partitioner:
    """Consistent grouping forgets on machines that differ, unless its window was given."""
    differ = any(len(set(phase.capacities)) > 1 for phase in cluster.phases)
    if differ and isinstance(partitioner, ConsistentGrouping) and "window" not in settings:
        return partitioner.forgetting()
    return partitioner


def _two_numbers(text: str) -> tuple[float, float]:
    try:
        mu, sigma = (float(part) for part in text.split(","))
    except ValueError as error:
        raise ParameterError(
            f"--lognormal {text!r} is not MU,SIGMA, such as 1.789,2.366"
        ) from error
    return mu, sigma


def machines_from(
    workers: int, capacities: str | None, rate: float | None, service: str | None, seed: int
) -> tuple[Cluster, Traffic] | None:
    """The machines and the traffic that the options describe; None if none of them is given."""
    if capacities is None and rate is None and service is None:
        return None
    check_workers(workers)
    return (
        Cluster.parse("equal" if capacities is None else capacities, workers),
        Traffic(
            rate=0.8 if rate is None else rate,
            service=cast(Service, "constant" if service is None else service),
            seed=seed,
        ),
    )
