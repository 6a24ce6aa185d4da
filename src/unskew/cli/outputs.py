"""Can a result be written where it should go? Asked before minutes of work, not after them."""

from __future__ import annotations

import os
from importlib.util import find_spec
from pathlib import Path

from unskew.errors import InputError, MissingExtraError


def check_out_file(path: Path | None, option: str, endings: tuple[str, ...] = ()) -> None:
    """Refuse a file that cannot be written, or of a kind that nothing here writes."""
    if path is None:
        return
    if os.path.isdir(path):  # noqa: PTH112 - Path raises where a name is too long
        raise InputError(f"{option} {path} is a folder; give the name of a file")
    if endings and path.suffix.lower() not in endings:
        raise InputError(f"{option} {path} must end in {' or '.join(endings)}")
    _check_folder(path.parent, f"{option} {path}")


def check_out_folder(path: Path | None, option: str) -> None:
    """Refuse a folder that neither is there nor can be made."""
    if path is None:
        return
    nearest = path
    while not os.path.exists(nearest) and nearest != nearest.parent:  # noqa: PTH110
        nearest = nearest.parent
    _check_folder(nearest, f"{option} {path}")


def check_extra(module: str, extra: str) -> None:
    """Refuse to begin without a library that is not part of the plain installation."""
    if find_spec(module) is None:
        raise MissingExtraError(module, extra)


def _check_folder(folder: Path, what: str) -> None:
    if not os.path.isdir(folder):  # noqa: PTH112
        raise InputError(f"{what} cannot be written: {folder} is not a folder")
    if not os.access(folder, os.W_OK):
        raise InputError(f"{what} cannot be written: {folder} is write-protected")
