"""What one DataFrame is: its keys, its schema, its physical plan."""
