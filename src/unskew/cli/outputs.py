"""Checks of output paths and optional packages, made before any work starts."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from unskew.errors import InputError, MissingExtraError


def check_out_file(path: Path | None, option: str, endings: tuple[str, ...] = ()) -> None:
    """Raise unless the file can be written and has one of the `endings`."""
    if path is None:
        return
    if os.path.isdir(path):  # noqa: PTH112 - Path raises where a name is too long
        raise InputError(f"{option} {path} is a folder; give a file name")
    if endings and path.suffix.lower() not in endings:
        raise InputError(f"{option} {path} must end in {' or '.join(endings)}")
    _check_folder(path.parent, f"{option} {path}")


def check_out_folder(path: Path | None, option: str) -> None:
    """Raise unless the folder exists or can be created."""
    if path is None:
        return
    nearest = path
    while not os.path.exists(nearest) and nearest != nearest.parent:  # noqa: PTH110
        nearest = nearest.parent
    _check_folder(nearest, f"{option} {path}")


def check_extra(module: str, extra: str) -> None:
    """Raise if `module`, which the extra installs, is missing."""
    if find_spec(module) is None:
        raise MissingExtraError(module, extra)


def _check_folder(folder: Path, what: str) -> None:
    if not os.path.isdir(folder):  # noqa: PTH112
        raise InputError(f"{what} cannot be written: {folder} is not a folder")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{what} cannot be written: {folder} is write-protected")
