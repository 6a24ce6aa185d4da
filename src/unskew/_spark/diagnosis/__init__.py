"""Diagnosis of skew in keys and in the state of streams, with advice."""
