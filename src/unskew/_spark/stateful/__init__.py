"""Streams with state of their own, whose keys can move between workers."""
