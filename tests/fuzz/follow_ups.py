"""What a user does with a result, as text: each turns `rows` into another DataFrame.

`rows` has the columns c0, c1 … by then: what follows is about rows, names have had their turn.
"""

from __future__ import annotations

FOLLOW_UPS = {
    "nothing": "rows",
    "persist": "persisted(rows)",
    "filter": "rows.filter('c0 IS NOT NULL')",
    "select": "rows.select(rows.columns[-1])",
    "union with itself": "rows.union(rows)",
    "join with itself": "rows.alias('l').join(rows.alias('r'), F.expr('l.c0 <=> r.c0'), 'semi')",
    "except itself": "rows.exceptAll(rows)",
    "repartition": "rows.repartition(3)",
    "parquet": "through_files(rows, 'parquet')",
    "checkpoint": "rows.localCheckpoint()",
    "struct": "rows.select(F.struct(*rows.columns).alias('c0'))",
    "distinct": "rows.distinct()",
    "group": "rows.groupBy(rows.columns[-1]).count()",
    "sort": "rows.sort('c0').withColumn('more', F.lit(1))",
    "view": "viewed(rows)",
    "cached and filtered": "persisted(rows).filter('c0 IS NULL')",
}

SHOWS_ANY_EQUAL = ("distinct", "group")
"""Those that show one of several equal strings of a collation."""

PERSISTED = """
def persisted(rows):
    kept = rows.persist()
    kept.count()
    return kept

def viewed(rows):
    rows.createOrReplaceTempView("fuzzed")
    return rows.sparkSession.sql("SELECT * FROM fuzzed")
"""
