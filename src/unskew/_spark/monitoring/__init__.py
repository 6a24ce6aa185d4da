"""Monitoring of running streams: progress, feeds, hot keys."""
