"""Shell completion of option values."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def one_of(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Complete to the names that start with the typed text.

    >>> one_of(["kg", "pkg", "porc"])("p")
    ['pkg', 'porc']
    """
    known = list(names)
    return lambda incomplete: [name for name in known if name.startswith(incomplete)]
