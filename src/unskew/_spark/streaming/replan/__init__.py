"""Streams that plan each batch from the batches before it."""
