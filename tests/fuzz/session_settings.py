"""Settings of the session that a user may have."""

from __future__ import annotations

import random
from collections.abc import Sequence

from tests.fuzz.kinds import zones_of
from tests.fuzz.tables import Field

INTERPRETED = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""A plan that runs once on a few rows takes less than compiling it."""
COMPILED = {"spark.sql.codegen.wholeStage": "true", "spark.sql.codegen.factoryMode": "FALLBACK"}

_BOTH = ("true", "false")
CHOICES: dict[str, tuple[str, ...]] = {
    "spark.sql.ansi.enabled": ("false",),
    "spark.sql.adaptive.enabled": ("false",),
    "spark.sql.session.timeZone": (
        *("America/New_York", "Europe/Berlin") * 4,
        *("Asia/Kolkata", "Pacific/Apia", "+05:30"),
    ),
    "spark.sql.caseSensitive": ("true",),
    "spark.sql.shuffle.partitions": ("1", "5"),
    "spark.sql.execution.arrow.maxRecordsPerBatch": ("1", "3"),
    "spark.sql.execution.arrow.useLargeVarTypes": _BOTH,
    "spark.sql.execution.pandas.convertToArrowArraySafely": ("true",),
    "spark.sql.execution.pythonUDF.arrow.enabled": _BOTH,
    "spark.sql.autoBroadcastJoinThreshold": ("-1",),
    "spark.sql.decimalOperations.allowPrecisionLoss": ("false",),
    "spark.sql.timestampType": ("TIMESTAMP_NTZ",),
    "spark.sql.retainGroupColumns": ("false",),
    "spark.sql.join.preferSortMergeJoin": ("false",),
    "spark.sql.execution.useObjectHashAggregateExec": ("false",),
    "spark.sql.legacy.allowHashOnMapType": ("true",),
    "spark.sql.legacy.timeParserPolicy": ("LEGACY",),
    "spark.sql.legacy.sizeOfNull": ("true",),
    "spark.sql.requireAllClusterKeysForCoPartition": ("false",),
    "spark.sql.groupByOrdinal": ("false",),
    "spark.sql.parquet.writeLegacyFormat": ("true",),
    "spark.sql.shuffle.orderIndependentChecksum.enabled": ("false",),
    "spark.sql.execution.arrow.maxBytesPerBatch": ("64",),
    "spark.sql.execution.sortBeforeRepartition": ("false",),
    "spark.sql.mapKeyDedupPolicy": ("LAST_WIN",),
    "spark.sql.storeAssignmentPolicy": ("LEGACY", "STRICT"),
    "spark.sql.analyzer.failAmbiguousSelfJoin": ("false",),
    "spark.sql.ansi.doubleQuotedIdentifiers": ("true",),
    "spark.sql.legacy.castComplexTypesToString.enabled": ("true",),
    "spark.sql.legacy.disableMapKeyNormalization": ("true",),
    "spark.sql.legacy.execution.pandas.groupedMap.assignColumnsByName": ("false",),
    "spark.sql.legacy.literal.pickMinimumPrecision": ("false",),
    "spark.sql.legacy.statisticalAggregate": ("true",),
}
_OFTEN = list(CHOICES)[:6]
_ZONE, _ANSI = "spark.sql.session.timeZone", "spark.sql.ansi.enabled"


def draw_settings(
    draw: random.Random, fields: Sequence[Field], attacked: bool
) -> tuple[tuple[str, str], ...]:
    """Up to three settings; those that change results are drawn more often.

    Instants want a time zone, if possible one in which they look alike, and decimals a rule for
    overflows, also where nothing else is set.
    """
    names: set[str] = set()
    if attacked:
        names = {draw.choice(_OFTEN if draw.random() < 0.7 else list(CHOICES)) for _ in range(3)}
    for word, name in (("timestamp", _ZONE), ("decimal", _ANSI)):
        if any(word in field.sql for field in fields) and draw.random() < 0.85:
            names.add(name)
    found = {name: draw.choice(CHOICES[name]) for name in sorted(names)}
    zones = [zone for field in fields for zone in zones_of(field.values)]
    if _ZONE in found and zones and draw.random() < 0.8:
        found[_ZONE] = draw.choice(zones)
    if attacked and draw.random() < 0.3:
        found |= COMPILED
    return tuple(sorted(found.items()))
