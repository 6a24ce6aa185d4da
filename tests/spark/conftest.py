"""Plans are interpreted here: each runs once on a few rows, which takes less than compiling it.

The documents, which run the applications too, and the fuzzer have compiled plans, as users do; so
does all of this when thorough.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.effort import THOROUGH

INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@pytest.fixture(autouse=True)
def _interpreted(request: pytest.FixtureRequest) -> Iterator[None]:
    if THOROUGH or "spark" not in request.fixturenames:
        yield
        return
    conf = request.getfixturevalue("spark").conf
    for name, value in INTERPRETED.items():
        conf.set(name, value)
    yield
    for name in INTERPRETED:
        conf.unset(name)
