"""Points between two writes of a batch, at which tests make it fail."""

from __future__ import annotations

from collections.abc import Callable

_hooks: list[Callable[[str, int], None]] = []


def fault_point(point: str, batch: int) -> None:
    """Call the hooks of a point; a hook may raise, or kill the process."""
    for hook in _hooks:
        hook(point, batch)


def wait_at_points(hook: Callable[[str, int], None]) -> Callable[[], None]:
    """Call `hook(point, batch)` at every point; returns a function that removes the hook."""
    _hooks.append(hook)
    return lambda: _hooks.remove(hook)
