"""Checksums of what a stream stores: JSON documents, and the part files of Parquet folders."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from unskew._spark.frames.files import DamagedFileError, Files

Given = TypeVar("Given")
Made = TypeVar("Made")

_AT_ONCE = 8  # Files read at a time: on an object store most of the time is spent waiting.


def document_bytes(body: Mapping[str, Any]) -> bytes:
    """One line of JSON, and a line with its checksum."""
    text = json.dumps(body).encode()
    return text + b"\n" + _checksum(text) + b"\n"


def document(content: bytes) -> dict[str, Any]:
    """Read what `document_bytes` wrote; raises `DamagedFileError` if it is not intact."""
    text, checksum, *_ = [*content.split(b"\n"), b"", b""]
    if checksum != _checksum(text):
        raise DamagedFileError("wrong checksum")
    try:
        body = json.loads(text)
    except ValueError as error:
        raise DamagedFileError(f"not JSON: {error}") from error
    if not isinstance(body, dict) or "format" not in body:
        raise DamagedFileError("not an object with a format")
    return body


@dataclass(frozen=True, slots=True)
class PartFile:
    """One file of a folder that Spark wrote."""

    name: str
    """With its folder."""
    length: int
    checksum: str


def part_files(files: Files, folder: str) -> tuple[PartFile, ...]:
    """The part files that are in a folder now, in order."""
    found = sorted(files.lengths(folder).items())
    names = [f"{folder}/{name}" for name, _ in found]
    sums = _each(names, files.checksum)
    return tuple(
        PartFile(name, size, checksum)
        for name, (_, size), checksum in zip(names, found, sums, strict=True)
    )


def check_part_files(files: Files, parts: Iterable[PartFile]) -> None:
    """Raise `DamagedFileError` unless every file is as it was when it was written."""

    def check(part: PartFile) -> None:
        if files.checksum(part.name) != part.checksum:
            raise DamagedFileError(f"{part.name} has changed: its checksum differs")

    parts = list(parts)
    found: dict[str, int] = {}
    for folder in {part.name.rpartition("/")[0] for part in parts}:
        found |= {f"{folder}/{name}": size for name, size in files.lengths(folder).items()}
    for part in parts:
        size = found.get(part.name)
        if size is None:
            raise DamagedFileError(f"{part.name} is missing")
        if size != part.length:
            raise DamagedFileError(f"{part.name} has {size} bytes instead of {part.length}")
    _each(parts, check)


def _each(given: list[Given], call: Callable[[Given], Made]) -> list[Made]:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(call, given))


def _checksum(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest().encode()
