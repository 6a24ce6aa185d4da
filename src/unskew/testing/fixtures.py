"""Fixtures for pytest: `pytest_plugins = ["unskew.testing.fixtures"]` in your conftest.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from unskew.testing.cluster.local_cluster import LocalCluster


@pytest.fixture(scope="module")
def local_cluster(request: pytest.FixtureRequest) -> Iterator[Callable[..., LocalCluster]]:
    """Start clusters that end with the module: `local_cluster(machines=2, slots=1)`.

    Their logs are kept if a test of the module failed.
    """
    failed = request.session.testsfailed
    made: list[LocalCluster] = []
    with ExitStack() as stack:

        def start(*arguments: Any, **settings: Any) -> LocalCluster:
            made.append(stack.enter_context(LocalCluster(*arguments, **settings)))
            return made[-1]

        yield start
        if request.session.testsfailed > failed:
            for each in made:
                each.keep = True
                print(f"the logs of the cluster are kept in {each.folder}")
