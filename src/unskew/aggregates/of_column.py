"""The base of aggregates that read one column."""

from __future__ import annotations

from dataclasses import dataclass

from unskew.checking import check_fields


@dataclass(frozen=True, slots=True)
class OfColumn:
    """An aggregate of one column; its other fields are settings."""

    column: str

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def columns(self) -> tuple[str, ...]:
        """The one column that `add` reads."""
        return (self.column,)
