"""`evenkeel demo`."""


def demo() -> None:
    """Compare."""
