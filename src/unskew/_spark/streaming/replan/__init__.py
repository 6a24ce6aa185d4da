"""Streams with a new routing plan for each batch, made from the batches before it."""
