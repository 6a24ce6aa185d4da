"""Streams to try a scheme on: generated, or from files."""

from unskew.workloads.files import FileStream
from unskew.workloads.fluctuation import FluctuatingKeys
from unskew.workloads.lognormal import LogNormalStream
from unskew.workloads.stream import Stream
from unskew.workloads.zipf import ZipfStream, zipf_probabilities

__all__ = [
    "FileStream",
    "FluctuatingKeys",
    "LogNormalStream",
    "Stream",
    "ZipfStream",
    "zipf_probabilities",
]
