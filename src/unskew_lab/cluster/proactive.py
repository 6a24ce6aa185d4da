"""POSG, figures 11 and 12: completion times of rows that cost 25, 5 or 1 ms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from unskew_lab.cluster.machines import running
from unskew_lab.cluster.thresholds import NOISE, times
from unskew_lab.papers.plot import Panel, Plot
from unskew_lab.papers.reading import distinct, lines, numbers, the, where
from unskew_lab.papers.specification import Claim, Figure, Paper, Row, Setting

KIND = "25/5/1 ms"
TARGET = 1.37

CHOICES = (
    "Costs of 25, 5 and 1 ms by entity, slept; rows arrive at the rate that k slots can serve and "
    "wait until their micro-batch is full. Only arrivals are virtual: batches run on k slots of "
    "the cluster. POSG learns from every batch; the paper's instances report while they work."
)


@dataclass(frozen=True, slots=True)
class CompletionTimes:
    """A stream of micro-batches on `slots` slots, under every scheme."""

    slots: int
    batches: int

    def measure(self) -> Sequence[Row]:
        """One row per scheme."""
        from unskew_lab.cluster import posg_streams

        found = posg_streams.completion_times(running().spark, self.slots, KIND, self.batches)
        return [
            {
                "scheme": each.scheme,
                "slots": self.slots,
                "completion": each.mean,
                "makespan": each.makespan,
                "fixed_cost": each.overhead,
            }
            for each in found
        ]


@dataclass(frozen=True, slots=True)
class BatchTimes:
    """The seconds of each batch, with POSG knowing nothing at first."""

    slots: int
    batches: int

    def measure(self) -> Sequence[Row]:
        """A row per batch and scheme."""
        from unskew_lab.cluster import posg_streams

        times_of = posg_streams.batch_times(running().spark, self.slots, KIND, self.batches)
        return [
            {"scheme": scheme, "batch": number, "seconds": seconds}
            for scheme, found in times_of.items()
            for number, seconds in enumerate(found)
        ]


def _fig11_cells(setting: Setting) -> list[BatchTimes]:
    return [BatchTimes(5, 5 if setting.quick else 12)]


def _fig11_claims(rows: Sequence[Row]) -> list[Claim]:
    posg, turn = (numbers(where(rows, scheme=s), "seconds") for s in ("posg", "round robin"))
    later = float(np.mean(posg[1:])) / float(np.mean(turn[1:]))
    return [
        Claim(
            "after a first window in turn POSG leaves round robin and is faster",
            "leaves it at row 10,690",
            f"first batch {posg[0] / turn[0]:.2f}, later batches {later:.2f} of round robin's time",
            later < 1,
        ),
    ]


def _fig11_plot(rows: Sequence[Row]) -> Plot:
    panel = Panel("batch times", "batch", "seconds", lines(rows, "batch", "seconds"))
    return Plot("POSG, Fig 11: batch after batch on 5 slots", [panel], columns=1)


FIG11 = Figure("11", "Batch after batch", _fig11_cells, _fig11_claims, _fig11_plot, CHOICES)


def _fig12_cells(setting: Setting) -> list[CompletionTimes]:
    slots = (5,) if setting.quick else (2, 3, 5, 7, 10)
    return [CompletionTimes(k, 3 if setting.quick else 10) for k in slots]


def _fig12_claims(rows: Sequence[Row]) -> list[Claim]:
    gains, best = {}, {}
    for k in map(int, distinct(rows, "slots")):
        part = where(rows, slots=k)
        posg = the(part, "completion", scheme="posg")
        gains[k] = the(part, "completion", scheme="round robin") / posg
        others = {str(row["scheme"]): float(row["completion"]) for row in part
                  if str(row["scheme"]).startswith("plain")}  # fmt: skip
        name = min(others, key=others.__getitem__)
        best[k] = (name, others[name] / posg)
    mean = float(np.mean(list(gains.values())))
    text = ", ".join(f"k={k} {times(gain)}" for k, gain in gains.items())
    return [
        Claim(
            "completion times are below round robin's, on average by",
            f"{TARGET}",
            f"{times(mean)} ({text})",
            mean >= TARGET,
        ),
        *(
            Claim(f"and still at k={k} by", "1.16", times(gains[k]), gains[k] >= 1.16)
            for k in gains
            if k == 10
        ),
        Claim(
            "POSG is at least as fast as Spark's own best: more partitions than slots",
            "(not in the paper)",
            ", ".join(f"k={k} {times(ratio)} against {name}" for k, (name, ratio) in best.items()),
            min(ratio for _, ratio in best.values()) >= NOISE,
            "a free slot takes the next small task, which levels costs without knowing them",
        ),
    ]


def _fig12_plot(rows: Sequence[Row]) -> Plot:
    panel = Panel("completion time", "slots", "seconds", lines(rows, "slots", "completion"))
    return Plot("POSG, Fig 12: costs of 25, 5 and 1 ms", [panel], columns=1)


FIG12 = Figure("12", "Two to ten slots", _fig12_cells, _fig12_claims, _fig12_plot, CHOICES)

PAPER = Paper(
    name="posg",
    title="Proactive Online Shuffle Grouping on a cluster",
    figures=(FIG11, FIG12),
    left_out={
        "Fig 11, change of speeds": "Spark binds no task to a machine: which instance is slow is "
        "decided again in each batch, and what was learned of an instance is of no use",
        "Fig 12, messages": "costs come back with the results: there are no messages of their own",
    },
)
