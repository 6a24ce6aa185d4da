"""Rows that differ in cost: timed, sampled, and scheduled by their cost."""
