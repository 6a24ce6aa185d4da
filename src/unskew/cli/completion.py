"""What a shell offers when Tab is pressed."""

from __future__ import annotations

from collections.abc import Callable, Iterable


def one_of(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Offer the names that begin like what is typed.

    >>> one_of(["kg", "pkg", "porc"])("p")
    ['pkg', 'porc']
    """
    known = list(names)
    return lambda incomplete: [name for name in known if name.startswith(incomplete)]
