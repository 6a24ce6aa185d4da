"""Reasons for which unskew refuses a job that plain Spark runs; all others are failures.

Each is documented where the argument or the type is: see docs/.
"""

from __future__ import annotations

import re

from unskew.errors import UnskewError

REASONS: dict[str, tuple[str, str]] = {
    "a scheme that does not give what the work needs": ("NeedError", r"does not guarantee"),
    "a scheme whose sources share one router": ("NeedError|ParameterError", r"one router|sources"),
    "a setting for which workers must report": ("NeedError|ParameterError", r"report"),
    "a setting out of its range": ("ParameterError", r"^\w+=\S+ (is not|points per)"),
    "keys that hold maps or variants": ("KeyTypeError", r"maps and variants"),
    "keys of a collation whose equal strings hash differently": ("KeyTypeError", r"collation"),
    "keys that pandas would change on the way to a merge": ("KeyTypeError", r"pandas"),
    "key types that differ between the sides": ("KeyTypeError", r"left and|cast one"),
    "a key column whose name is there twice": ("ParameterError", r"columns named"),
    "a column that is not there": ("UnknownNameError", r"no column"),
    "an order-dependent route behind a shuffle without checksums": ("RetryError", r""),
    "a plan for other keys or workers": ("ParameterError", r"the plan|this plan"),
    "settings for workers that are not there": ("ParameterError", r"capacities="),
    "Spark's aggregates beside aggregates in Python": ("ParameterError", r"beside aggregates"),
    "one route for both sides of a cogroup": ("ParameterError", r"one route"),
    "a merge that changes the schema": ("SchemaError", r"merge"),
    "an order in Python of strings with a collation": ("ParameterError", r"without its collation"),
    "a side of a full join that is copied": ("NeedError", r"once for each worker"),
    "partial results in place of work that needs whole keys": ("NeedError", r"in-place"),
    "rows to be placed that stay in place": ("ParameterError", r"in-place"),
    "an aggregate of a type that it cannot take": ("ParameterError|KeyTypeError|InputError|"
                                                   "ParameterTypeError|SchemaError", r"type|takes"),
}  # fmt: skip
"""Reason: the error's class, and what its message says."""


def reason_of(error: UnskewError) -> str | None:
    """The documented reason of an error."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    for reason, (names, words) in REASONS.items():
        if kinds & set(names.split("|")) and re.search(words, str(error)):
            return reason
    return None
