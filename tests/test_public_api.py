"""What `import unskew` announces is there, loaded when first used."""

from __future__ import annotations

import importlib

import pytest
from tests import public_api

import unskew


def test_everything_announced_is_there():
    assert set(unskew.__all__) <= set(dir(unskew))
    for name in unskew.__all__:
        assert getattr(unskew, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'grupBy'"):
        _ = unskew.grupBy


@pytest.mark.parametrize("name", ["unskew.streaming", "unskew.testing", "unskew.partitioners"])
def test_everything_that_a_module_announces_is_there(name):
    module = importlib.import_module(name)
    for each in module.__all__:
        assert getattr(module, each) is not None


def test_the_public_surface_is_the_one_that_was_reviewed():
    assert public_api.surface() == public_api.SNAPSHOT.read_text(), "changed on purpose? make api"
