"""What a source can remember of a stream: exactly, or in a bounded number of counters."""
