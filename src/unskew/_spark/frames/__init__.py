"""What one DataFrame is (keys, schema, physical plan), and the files that streams keep."""
