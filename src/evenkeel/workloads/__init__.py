"""Streams to try a scheme on: generated, or from files."""

from evenkeel.workloads.files import FileStream
from evenkeel.workloads.fluctuation import FluctuatingKeys
from evenkeel.workloads.lognormal import LogNormalStream
from evenkeel.workloads.stream import Stream
from evenkeel.workloads.zipf import ZipfStream, zipf_probabilities

__all__ = [
    "FileStream",
    "FluctuatingKeys",
    "LogNormalStream",
    "Stream",
    "ZipfStream",
    "zipf_probabilities",
]
