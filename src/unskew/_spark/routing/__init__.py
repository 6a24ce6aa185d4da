"""From a partitioner to a worker for each row, and from a worker to a partition."""
