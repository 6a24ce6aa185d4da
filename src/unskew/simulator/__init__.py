"""Simulation of schemes on streams, without a cluster."""
