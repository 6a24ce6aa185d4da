"""Streams whose partial results Spark merges."""
