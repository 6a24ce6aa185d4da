"""What a scheme would do to a stream, without a cluster."""
