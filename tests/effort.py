"""How much the tests try: little by default, more with UNSKEW_TEST_PROFILE=thorough."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

PROFILE = os.environ.get("UNSKEW_TEST_PROFILE", "unskew")
THOROUGH = PROFILE == "thorough"

# No test may depend on how fast the machine is (the first call of a kernel compiles it, also where
# a strategy makes it while it draws), nor on luck: the same examples every time. New ones are drawn
# by the thorough profile.
settings.register_profile(
    "unskew", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile(
    "thorough", settings.get_profile("unskew"), derandomize=False, max_examples=500
)
settings.load_profile(PROFILE)

few_jobs = settings(
    max_examples=20 if THOROUGH else 2,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
"""For a test whose every example is a job of Spark, on one session."""
