"""Complete programs on the public API."""
