"""Group functions and aggregates, as Spark's tasks run them."""
