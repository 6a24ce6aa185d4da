"""The same flow on DataFrames: statistics, a plan, a worker for each row, placement.

The only part of unskew that imports pyspark.
"""
