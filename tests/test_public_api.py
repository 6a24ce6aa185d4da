"""What `import unskew` announces is there, loaded when first used."""

from __future__ import annotations

import pytest

import unskew


def test_everything_announced_is_there():
    assert set(unskew.__all__) <= set(dir(unskew))
    for name in unskew.__all__:
        assert getattr(unskew, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'grupBy'"):
        _ = unskew.grupBy
