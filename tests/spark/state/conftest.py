"""Keyed state is for classic sessions: it is found through the driver's JVM."""

from __future__ import annotations

import os

import pytest

CONNECT = os.environ.get("UNSKEW_TEST_MODE") == "connect"


@pytest.fixture(autouse=True)
def _classic_only(request: pytest.FixtureRequest) -> None:
    if CONNECT and "spark" in request.fixturenames:
        pytest.skip("stateful refuses Spark Connect, which hides the driver's JVM")
