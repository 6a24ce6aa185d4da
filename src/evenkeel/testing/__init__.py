"""For the tests of jobs on skewed data: generators, and assertions on results and balance."""

from __future__ import annotations

from evenkeel.testing.assertions import assert_balanced, assert_same_result
from evenkeel.testing.generators import one_hot_key, skewed

__all__ = ["assert_balanced", "assert_same_result", "one_hot_key", "skewed"]
