"""What is skewed, and what would help: keys, and the state of streams."""
