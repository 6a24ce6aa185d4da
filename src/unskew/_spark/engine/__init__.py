"""A user's function of a group, or an aggregate, as Spark's tasks run it."""
