"""evenkeel keeps keyed processing on Spark balanced."""

__version__ = "0.1.0"
