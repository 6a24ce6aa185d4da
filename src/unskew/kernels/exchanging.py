"""Swapping keys between workers, for when no single key fits anywhere."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from unskew.kernels import compiled
from unskew.kernels.shedding import Ledger, move, price


@compiled
def exchange(
    rows: NDArray[np.int64],
    keys: Ledger,
    entry: float,
    limit: float,
    rounds: int,
) -> None:
    """Move or swap keys of the most loaded worker until it is under `limit` or nothing helps.

    Of the steps that bring the two workers concerned under the limit the cheapest is taken, and
    without any such step the one that lowers the higher of the two most.
    """
    for _ in range(rounds):
        top = int(np.argmax(keys.loads))
        if keys.loads[top] <= limit * (1 + 1e-12):
            return
        best_one, best_two, best_place = -1, -1, -1
        best_top, best_price = keys.loads[top] * (1 - 1e-12), np.inf
        for i in range(rows.size):
            one = rows[i]
            if keys.owner[one] != top:
                continue
            for j in range(-keys.loads.size, rows.size):
                if j < 0:
                    place, two, gives = j + keys.loads.size, -1, 0.0
                else:
                    two = rows[j]
                    place, gives = int(keys.owner[two]), keys.cost[two]
                if place == top or gives >= keys.cost[one]:
                    continue
                moved = keys.cost[one] - gives
                higher = max(limit, keys.loads[top] - moved, keys.loads[place] + moved)
                if higher > best_top:
                    continue
                extra = price(one, place, keys, entry) - price(one, top, keys, entry)
                if two >= 0:
                    extra += price(two, top, keys, entry)
                    extra -= price(two, place, keys, entry)
                if higher < best_top or extra < best_price:
                    best_one, best_two, best_place = one, two, place
                    best_top, best_price = higher, extra
        if best_one < 0:
            return
        move(best_one, best_place, keys)
        if best_two >= 0:
            move(best_two, top, keys)
