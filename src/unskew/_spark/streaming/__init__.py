"""Streams without state of their own: Spark's state store merges their partial results."""
