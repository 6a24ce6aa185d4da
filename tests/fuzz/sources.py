"""Where the rows come from, as text: each turns `rows` into a DataFrame with the same rows."""

from __future__ import annotations

SOURCES = {
    "literals": "rows",
    "range": "rows",  # Made from spark.range instead of literals: Table.range_text.
    "parquet file": "through_files(rows, 'parquet')",
    "orc file": "through_files(rows, 'orc')",
    "shuffled": "rows.repartition(3)",
    "shuffled by key": "rows.repartition(2, *map(col, rows.columns[:1]))",
    "grouped": "rows.distinct()",
    "cached": "rows.cache()",
    "checkpointed": "rows.localCheckpoint()",
    "union": "rows.filter('false').union(rows)",
    "one partition": "rows.coalesce(1)",
    "sorted": "rows.sort(*map(col, rows.columns[:1]))",
    "python": "rows.mapInArrow(lambda batches: batches, rows.schema)",
    "rdd": "spark.createDataFrame(rows.rdd, rows.schema)",
    "unioned ranges": "rows.union(rows.filter('false').repartition(2))",
}

THROUGH_FILES = """
def through_files(rows, form):
    folder = tempfile.mkdtemp(prefix="unskew-fuzz-")
    rows.write.mode("overwrite").format(form).save(folder)
    return spark.read.schema(rows.schema).format(form).load(folder)
"""
