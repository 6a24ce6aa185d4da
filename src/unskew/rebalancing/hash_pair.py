"""Base of scan, redist and readj: frequent keys by table, all others by hash."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from unskew.checking import check_fields
from unskew.errors import ParameterError
from unskew.kernels import WorkerIds
from unskew.kernels.hash_pair import place_items
from unskew.metrics import max_over_min
from unskew.partitioners.routing_table import RoutingTable
from unskew.rebalancing.assignment import Assignment, Rows, loads_of
from unskew.rebalancing.least_load import check_theta
from unskew.rebalancing.rebalance import Rebalance, Stop
from unskew.rebalancing.resources import Growth, Resources, amount
from unskew.rebalancing.statistics import Amounts, KeyStatistics

Utility = Literal["a", "apm", "aplm", "atm", "atlm"]
"""Balance alone; plus migration; plus log(1 + migration); and the same two as factors."""


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """The tracked keys in falling order of frequency, as the kernels expect them."""

    rows: Rows
    frequency: Amounts
    amounts: Amounts
    weights: Amounts
    state: Amounts
    old: WorkerIds
    theta: float
    utility: int
    moved: float
    ideal: float
    workers: int


def frequencies(keys: KeyStatistics) -> Amounts:
    """Each key's fraction of all messages."""
    total = float(keys.frequency.sum()) + keys.unlisted
    return keys.frequency / total if total > 0 else keys.frequency


def tracked(keys: KeyStatistics, resources: Resources, sigma: float, workers: int) -> Rows:
    """The keys of the explicit table, most frequent first."""
    frequency = frequencies(keys)
    threshold = resources.threshold(frequency, max(keys.size, 1), sigma, workers)
    rows = np.flatnonzero((frequency >= threshold) & (frequency > 0))
    order: Rows = rows[np.argsort(-frequency[rows], kind="stable")]
    return order


@dataclass(frozen=True, slots=True)
class HashPairPlanner(abc.ABC):
    """Base of the planners of paper 004: they share settings and differ in `place`.

    `alpha` is the highest load over the lowest that is tolerated; with `theta`, as the other
    planners have it, the highest load over the mean less one decides instead.
    """

    algorithm: ClassVar[str]

    sigma: float = 0.1
    alpha: float = 1.2
    utility: Utility = "apm"
    state: Growth = "linear"
    computation: Growth = "constant"
    theta: float | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0 < self.sigma <= 1:
            raise ParameterError(f"sigma={self.sigma} is not in (0, 1]; the paper uses 0.1")
        if self.utility not in get_args(Utility):
            known = ", ".join(get_args(Utility))
            raise ParameterError(f"utility={self.utility!r} is not one of {known}")
        if self.theta is not None:
            check_theta(self.theta)
        self.resources(workers=2)  # checks its own settings

    def resources(self, workers: int) -> Resources:
        """The resources that a key takes, and the imbalance that is tolerated."""
        return Resources(self.state, self.computation, self._alpha(workers))

    def _alpha(self, workers: int) -> float:
        """One load is (1 + theta) times the mean, and the others share the rest evenly."""
        if self.theta is None:
            return self.alpha
        others = max(workers - 1 - self.theta, 1e-9) / max(workers - 1, 1)
        return max((1 + self.theta) / others, 1 + 1e-9)

    @abc.abstractmethod
    def place(self, items: Items, owner: WorkerIds) -> None:
        """Set the owner of each item; they start at home or where they were."""

    def rebalance(self, keys: KeyStatistics, current: RoutingTable, workers: int) -> Rebalance:
        """Plan from `current` to `workers` workers: place frequent keys, send all others home."""
        assignment = Assignment.of(keys, current, workers)
        rows = (
            tracked(keys, self.resources(workers), self.sigma, workers)
            if workers > 1
            else np.empty(0, dtype=np.intp)
        )
        let_go = np.setdiff1d(assignment.entries, rows, assume_unique=True)
        previous = assignment.previous[rows]
        owner = np.where(previous < workers, previous, assignment.home[rows]).astype(np.int32)
        if rows.size:
            resources = self.resources(workers)
            self.place(_items(assignment, rows, let_go, resources, self.utility), owner)
        moved = np.concatenate([rows, let_go])
        targets = np.concatenate([owner, assignment.home[let_go]])
        return assignment.conclude(
            self.algorithm,
            moved,
            targets,
            stop=self._stop(assignment, moved, targets),
            remarks=(f"{rows.size} keys are frequent enough to be tracked",),
        )

    def _stop(self, assignment: Assignment, moved: Rows, targets: WorkerIds) -> Stop:
        owner = assignment.start.copy()
        owner[moved] = targets
        loads = loads_of(assignment.keys, owner, assignment.workers)
        return Stop.LEVEL if max_over_min(loads) <= self._alpha(assignment.workers) else Stop.DONE


def place_in_order(items: Items, owner: WorkerIds, *, by_frequency: bool) -> None:
    """Place every item: in falling order of frequency, or always the one that gains most."""
    place_items(
        items.frequency, items.amounts, items.weights, items.state, items.old, items.theta,
        items.utility, items.moved, items.ideal, items.workers, by_frequency, owner,
    )  # fmt: skip


def _items(
    assignment: Assignment, rows: Rows, let_go: Rows, resources: Resources, utility: Utility
) -> Items:
    frequency = frequencies(assignment.keys)
    state = amount(resources.state, frequency)
    weights = resources.weights()
    moved = state[let_go][assignment.previous[let_go] != assignment.home[let_go]].sum()
    gone = assignment.previous[rows] >= assignment.workers
    concerned = state[rows].sum() + state[let_go].sum()
    return Items(
        rows, frequency[rows],
        np.stack([amount(growth, frequency[rows]) for growth in weights]),
        np.array(list(weights.values())), state[rows], assignment.previous[rows],
        resources.tolerance(assignment.workers), get_args(Utility).index(utility),
        float(moved + state[rows][gone].sum()), float(concerned) / assignment.workers,
        assignment.workers,
    )  # fmt: skip
