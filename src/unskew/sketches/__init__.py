"""Memory of a stream: exact, or in a bounded number of counters."""
