"""What `import evenkeel` announces is there, loaded when first used."""

from __future__ import annotations

import pytest

import evenkeel


def test_everything_announced_is_there():
    assert set(evenkeel.__all__) <= set(dir(evenkeel))
    for name in evenkeel.__all__:
        assert getattr(evenkeel, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'grupBy'"):
        _ = evenkeel.grupBy
