"""Frozen dataclasses with array fields that compare and hash by content."""

from __future__ import annotations

import dataclasses
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

_T = TypeVar("_T", bound=np.generic)


def frozen(array: NDArray[Any], dtype: type[_T]) -> NDArray[_T]:
    """A read-only copy of `array`, so that a value never changes."""
    copy = np.array(array, dtype=dtype)
    copy.setflags(write=False)
    return copy


class ArrayValue:
    """Equality and hash by content for a frozen dataclass (`eq=False`) with array fields."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return all(
            np.array_equal(mine, theirs) if isinstance(mine, np.ndarray) else mine == theirs
            for mine, theirs in zip(_contents(self), _contents(other), strict=True)
        )

    def __hash__(self) -> int:
        return hash(
            tuple(
                part.tobytes() if isinstance(part, np.ndarray) else part for part in _contents(self)
            )
        )


def _contents(value: Any) -> list[Any]:
    return [getattr(value, each.name) for each in dataclasses.fields(value) if each.compare]
