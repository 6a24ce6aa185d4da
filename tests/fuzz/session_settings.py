"""Settings of the session that a user may have."""

from __future__ import annotations

import random

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
    "spark.sql.codegen.wholeStage": ("true",),
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
_WANTED = {"timestamp": "spark.sql.session.timeZone", "decimal": "spark.sql.ansi.enabled"}
_OFTEN = list(CHOICES)[:6]


def draw_settings(
    draw: random.Random, types: set[str], attacked: bool
) -> tuple[tuple[str, str], ...]:
    """Up to three settings; those that change results are drawn more often.

    Instants want a time zone and decimals a rule for overflows, also where nothing else is set.
    """
    names: set[str] = set()
    if attacked:
        names = {draw.choice(_OFTEN if draw.random() < 0.7 else list(CHOICES)) for _ in range(3)}
    for word, name in _WANTED.items():
        if any(word in sql for sql in types) and draw.random() < 0.7:
            names.add(name)
    return tuple((name, draw.choice(CHOICES[name])) for name in sorted(names))
