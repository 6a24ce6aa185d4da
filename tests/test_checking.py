"""Annotations are understood in every form that a library may give them."""

from __future__ import annotations

import typing
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from unskew.checking import alternatives, array_scalar, check_value, field_types
from unskew.errors import ParameterTypeError

S = typing.TypeVar("S", bound=np.generic)
Plain = np.ndarray[typing.Any, np.dtype[S]]


class Alias:
    """A hand-made `type Name[S] = ...`, which Python 3.11 has no syntax for.

    Like `typing.TypeAliasType` it knows its parameters and its value, and is the origin of what
    its subscription gives.
    """

    def __init__(self, value: object, *parameters: typing.Any) -> None:
        self.__value__ = value
        self.__type_params__ = parameters

    def __call__(self) -> None:
        """typing takes only callables as origins."""

    def __getitem__(self, argument: object) -> typing.Any:
        return type(list[int])(self, argument)


Array = Alias(Plain, S)
Nested = Alias(Array[S], S)
Hashes = Alias(Array[np.uint64])


@pytest.mark.parametrize(
    "hint",
    [
        NDArray[np.uint64],
        Plain[np.uint64],
        np.ndarray[tuple[int], np.dtype[np.uint64]],
        Array[np.uint64],
        Nested[np.uint64],
        Hashes,
    ],
    ids=["numpy", "plain", "shape", "alias", "alias-of-alias", "alias-without-parameters"],
)
def test_an_array_is_known_in_every_form(hint):
    assert array_scalar(hint) is np.uint64
    for kind in alternatives(hint):
        assert array_scalar(kind) is np.uint64
    check_value("keys", np.zeros(3, dtype=np.uint64), hint)
    with pytest.raises(ParameterTypeError, match="not an array of uint64"):
        check_value("keys", "abc", hint)


def test_a_union_may_stand_behind_an_alias():
    assert alternatives(Alias(int | None)) == [int, type(None)]
    assert alternatives(typing.Optional[Alias(float | str)]) == [float, str, type(None)]  # noqa: UP045


@pytest.mark.parametrize("hint", [int, str, None, list[int], typing.Literal["a"]])
def test_other_annotations_are_no_arrays(hint):
    assert array_scalar(hint) is None


@dataclass
class Described:
    """Has a field of each form."""

    constant: typing.ClassVar[int] = 3
    workers: int
    keys: NDArray[np.uint64]


def test_fields_are_listed_without_constants():
    assert list(field_types(Described)) == ["workers", "keys"]
    assert array_scalar(field_types(Described)["keys"]) is np.uint64
