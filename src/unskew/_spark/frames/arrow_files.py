"""Small files through Arrow's file systems: tasks have these, and no JVM."""

from __future__ import annotations

import functools
import uuid
from dataclasses import dataclass
from urllib.parse import urlsplit

from pyarrow import fs

# Hadoop's names of stores that Arrow knows by another.
_SCHEMES = {"s3a": "s3", "s3n": "s3"}


@functools.lru_cache(maxsize=16)
def file_system(folder: str) -> tuple[fs.FileSystem, str]:
    """The file system of a folder, and the folder's path on it."""
    scheme = urlsplit(folder).scheme
    if scheme in ("", "file"):
        # Hadoop writes file:/folder, with spaces as they are.
        return fs.LocalFileSystem(), "/" + folder.removeprefix("file:").lstrip("/")
    system, root = fs.FileSystem.from_uri(_SCHEMES.get(scheme, scheme) + folder[len(scheme) :])
    return system, root


@dataclass(frozen=True, slots=True)
class ArrowFolder:
    """The files in one folder; names are relative to it. What fails is an `OSError`."""

    folder: str

    def path(self, name: str) -> str:
        """The whole path of a name, as a user would write it."""
        return f"{self.folder}/{name}"

    def make(self) -> None:
        """Make the folder, if there is none."""
        system, path = self._at("")
        system.create_dir(path, recursive=True)

    def names(self, name: str = "") -> list[str]:
        """The names in a folder, sorted; empty if there is no such folder."""
        return sorted(self.sizes(name))

    def sizes(self, name: str = "") -> dict[str, int]:
        """The same names with their sizes in bytes; 0 for what is no file."""
        system, path = self._at(name)
        found = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
        return {each.base_name: each.size or 0 for each in found}

    def read(self, name: str, most: int) -> bytes:
        """The content of a file; raises `OSError` if there is no such file within `most` bytes."""
        system, path = self._at(name)
        found = system.get_file_info(path)
        if found.type == fs.FileType.NotFound:
            raise FileNotFoundError("there is no such file")
        if found.type != fs.FileType.File:  # A pipe would never end.
            raise OSError("it is no file")
        with system.open_input_stream(path) as stream:
            content: bytes = stream.read(most + 1)
        if len(content) > most:
            raise OSError(f"it has more than {most} bytes")
        return content

    def replace(self, name: str, content: bytes) -> None:
        """Write a file, whole or not at all, in place of what has its name."""
        system, path = self._at(name)
        folder, _, base = path.rpartition("/")
        system.create_dir(folder, recursive=True)
        draft = f"{folder}/.{base}-{uuid.uuid4().hex[:16]}"
        try:
            with system.open_output_stream(draft) as stream:
                stream.write(content)
            _move(system, draft, path)
        except OSError:
            _remove_file(system, draft)
            raise

    def remove(self, name: str) -> None:
        """Remove a folder and what is in it, if it exists."""
        system, path = self._at(name)
        try:
            system.delete_dir(path)
        except FileNotFoundError:
            return

    def _at(self, name: str) -> tuple[fs.FileSystem, str]:
        try:
            system, root = file_system(self.folder)
        except (ValueError, NotImplementedError) as error:
            raise OSError(str(error)) from error
        return system, f"{root}/{name}".rstrip("/")


def _move(system: fs.FileSystem, draft: str, path: str) -> None:
    try:
        system.move(draft, path)
    except OSError:
        # HDFS moves onto no file that exists.
        _remove_file(system, path)
        system.move(draft, path)


def _remove_file(system: fs.FileSystem, path: str) -> None:
    try:
        system.delete_file(path)
    except OSError:
        return
