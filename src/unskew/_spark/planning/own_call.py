"""When a group function is left to Spark's own call, with a trip to Python for each group."""

from __future__ import annotations

import pyspark

KNOWN = tuple(map(int, pyspark.__version__.split(".")[:2])) >= (4, 3)
"""Whether this PySpark has the conversions that groups in bulk share with it."""

NO_KEY = "without a key all rows are one group"


def why_own_call(has_key: bool) -> str | None:
    """Why it is; None if groups go in bulk."""
    if not has_key:
        return NO_KEY
    if not KNOWN:
        return f"PySpark {pyspark.__version__} converts groups otherwise than 4.3 and later do"
    return None
