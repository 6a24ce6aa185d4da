"""What a running stream tells: progress, feeds, hot keys."""
