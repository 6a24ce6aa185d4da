"""Rows that differ in cost: measured, sampled, and scheduled by it."""
