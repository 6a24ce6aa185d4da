"""The protocol that every planner implements."""

from __future__ import annotations

from typing import ClassVar, Protocol, runtime_checkable

from unskew.partitioners.routing_table import RoutingTable
from unskew.rebalancing.rebalance import Rebalance
from unskew.rebalancing.statistics import KeyStatistics


@runtime_checkable
class Rebalancer(Protocol):
    """A frozen dataclass whose fields are its settings, all with a default."""

    algorithm: ClassVar[str]
    """The name on the command line and in JSON."""

    def rebalance(self, keys: KeyStatistics, current: RoutingTable, workers: int) -> Rebalance:
        """A new table with the migration it implies; `current` is never edited.

        The maximum load never rises, unless the number of workers or the table limit forces it.
        """
        ...
