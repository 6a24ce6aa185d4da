"""Draw the pictures of docs/batch.md with evenkeel's own plots: `python tools/pictures.py`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import evenkeel as ek
from evenkeel.spark.session import local_session
from evenkeel.testing import skewed

IMAGES = Path(__file__).parent.parent / "docs" / "images"
WORKERS = 16


def main() -> None:
    """A diagnosis of skewed clicks, and the workers' loads before and after the plan."""
    spark = local_session(2, partitions=WORKERS)
    clicks = skewed(spark, rows=120_000, keys=2_000, exponent=1.2).persist()
    ek.diagnose(clicks, "key", workers=WORKERS).plot().savefig(IMAGES / "diagnosis.png", dpi=90)
    plan = ek.plan(clicks, "key", workers=WORKERS)
    hashed = _loads(ek.plan(clicks, "key", workers=WORKERS, scheme="kg").with_worker(clicks, "w"))
    planned = _loads(plan.with_worker(clicks, "w"))
    figure = Figure(figsize=(8, 2.8), layout="constrained")
    FigureCanvasAgg(figure)
    for axis, title, loads in zip(
        figure.subplots(1, 2, sharey=True),
        ("plain Spark", "evenkeel"),
        (hashed, planned),
        strict=True,
    ):
        axis.bar(range(WORKERS), loads, color=np.where(loads == loads.max(), "#c0392b", "#5b8db8"))
        axis.axhline(loads.mean(), color="black", linewidth=0.8)
        axis.set(title=f"{title}: max/mean {loads.max() / loads.mean():.2f}", xlabel="worker")
        axis.spines[["top", "right"]].set_visible(False)
    figure.axes[0].set_ylabel("rows")
    figure.savefig(IMAGES / "before-after.png", dpi=90)


def _loads(rows: ek.Plan) -> np.ndarray:
    counted = dict(rows.groupBy("w").count().collect())
    return np.array([counted.get(worker, 0) for worker in range(WORKERS)])


if __name__ == "__main__":
    main()
