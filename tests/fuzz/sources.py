"""Where the rows come from, as text: each turns `rows` into a DataFrame with the same rows.

`{id}` is the place of the column that numbers them.
"""

from __future__ import annotations

SOURCES = {
    "literals": "rows",
    "range": "rows",  # Made from spark.range instead of literals: Table.range_text.
    "parquet file": "through_files(rows, 'parquet')",
    "orc file": "through_files(rows, 'orc')",
    "shuffled": "rows.repartition(3)",
    "shuffled by key": "rows.repartition(2, *map(col, rows.columns[:1]))",
    "grouped": "grouped(rows, {id})",
    "cached": "rows.cache()",
    "checkpointed": "rows.localCheckpoint()",
    "union": "rows.filter('false').union(rows)",
    "union of halves": "half(rows, {id}, 0).union(half(rows, {id}, 1))",
    "one partition": "rows.coalesce(1)",
    "sorted": "rows.sort(*map(col, rows.columns[:1]))",
    "python": "rows.mapInArrow(lambda batches: batches, rows.schema)",
    "rdd": "spark.createDataFrame(rows.rdd, rows.schema)",
    "python in any order": "rows.mapInArrow(in_any_order, rows.schema)",
    "unioned ranges": "rows.union(rows.filter('false').repartition(2))",
}

THROUGH_FILES = """
def through_files(rows, form):
    folder = tempfile.mkdtemp(prefix="unskew-fuzz-")
    rows.write.mode("overwrite").format(form).save(folder)
    return spark.read.schema(rows.schema).format(form).load(folder)
"""

OTHERS = """
def grouped(rows, place):
    # By their number: of equal zeros a distinct row may show either.
    named = rows.toDF(*(f"c{n}" for n in range(len(rows.columns))))
    return named.dropDuplicates([f"c{place}"]).toDF(*rows.columns)

def half(rows, place, rest):
    named = rows.toDF(*(f"c{n}" for n in range(len(rows.columns))))
    return named.filter(f"c{place} % 2 = {rest}").toDF(*rows.columns)

def in_any_order(batches):
    for batch in batches:
        places = list(range(batch.num_rows))
        random.shuffle(places)
        yield batch.take(pa.array(places, pa.int64()))
"""
