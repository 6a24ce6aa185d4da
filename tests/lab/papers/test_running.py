import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
from rich.console import Console

from unskew.errors import UnknownNameError
from unskew_lab.papers.plot import Line, Panel, Plot
from unskew_lab.papers.running import reproduce
from unskew_lab.papers.specification import Claim, Figure, Paper, Row, Setting
from unskew_lab.papers.table import summary, tables


@dataclass(frozen=True)
class Square:
    number: int
    measured: ClassVar[list[int]] = []

    def measure(self) -> Sequence[Row]:
        self.measured.append(self.number)
        return [{"x": self.number, "y": self.number**2}]


def cells(setting: Setting) -> list[Square]:
    return [Square(number) for number in range(1, 3 if setting.quick else 5)]


def claims(rows: Sequence[Row]) -> list[Claim]:
    largest = max(int(row["y"]) for row in rows)
    return [
        Claim("squares grow", "to 16", f"to {largest}", largest == 16),
        Claim("squares shrink", "yes", "no", False, why="they never did"),
    ]


def picture(rows: Sequence[Row]) -> Plot:
    line = Line("squares", [float(row["x"]) for row in rows], [float(row["y"]) for row in rows])
    return Plot("Squares", [Panel("squares", "x", "y", [line], log_y=True)])


PAPER = Paper(
    "squares",
    "On squares",
    (
        Figure("1", "Squares", cells, claims, picture),
        Figure("2", "The same cells again", cells, claims),
    ),
)


@pytest.fixture(autouse=True)
def forget() -> None:
    Square.measured.clear()


def test_writes_tables_pictures_and_claims(tmp_path: Path) -> None:
    outcomes = reproduce(PAPER, Setting(), tmp_path)
    with (tmp_path / "figure-1.csv").open() as file:
        assert [row["y"] for row in csv.DictReader(file)] == ["1", "4", "9", "16"]
    assert (tmp_path / "figure-1.png").read_bytes().startswith(b"\x89PNG")
    page = (tmp_path / "figure-1.html").read_text()
    assert "Squares" in page
    assert "<script src=" not in page
    rows = json.loads((tmp_path / "claims.json").read_text())
    assert [(row["figure"], row["holds"]) for row in rows] == [
        ("1", True),
        ("1", False),
        ("2", True),
        ("2", False),
    ]
    assert {"figure", "claim", "paper", "ours", "holds"} <= rows[0].keys()
    assert summary(outcomes) == "2 of the paper's 4 claims hold"


def test_figures_that_share_a_cell_measure_it_once(tmp_path: Path) -> None:
    reproduce(PAPER, Setting(), tmp_path)
    assert sorted(Square.measured) == [1, 2, 3, 4]


def test_goes_on_where_a_run_stopped(tmp_path: Path) -> None:
    reproduce(PAPER, Setting(quick=True), tmp_path)
    Square.measured.clear()
    outcomes = reproduce(PAPER, Setting(), tmp_path)
    assert sorted(Square.measured) == [3, 4]
    assert outcomes[0].claims[0].holds


def test_reports_progress(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int]] = []
    reproduce(PAPER, Setting(quick=True), tmp_path, "2", progress=lambda *step: seen.append(step))
    assert seen == [("2", 0, 2), ("2", 1, 2), ("2", 2, 2)]


def test_an_unknown_figure_is_refused_before_work(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="no figure '3'"):
        reproduce(PAPER, Setting(), tmp_path, "3")
    assert not list(tmp_path.iterdir())


def test_the_table_says_why_a_claim_does_not_hold(tmp_path: Path) -> None:
    console = Console(width=120)
    with console.capture() as captured:
        console.print(*tables("On squares", reproduce(PAPER, Setting(), tmp_path)))
    assert "does not hold" in captured.get()
    assert captured.get().count("they never did") == 1


@dataclass(frozen=True)
class Drawn:
    seed: int

    def measure(self) -> Sequence[Row]:
        return [{"x": self.seed, "scheme": "s"}]


def small(rows: Sequence[Row]) -> list[Claim]:
    (row,) = rows
    x = float(row["x"])
    return [
        Claim("below 3", "< 3", f"{x:g}", x < 3, value=x),
        Claim("never 4", "≠ 4", f"{x:g}", x != 4, always=True, added=True),
    ]


DRAWN = Figure(
    "d", "Draws", lambda setting: [Drawn(setting.seed)], small, draws=5,
    real=lambda setting: {"words": [Drawn(1)], "clicks": [Drawn(9)]},
)  # fmt: skip


def test_the_median_of_the_draws_decides(tmp_path: Path) -> None:
    (outcome,) = reproduce(Paper("d", "D", (DRAWN,)), Setting(seed=0), tmp_path)
    first, second = outcome.claims
    assert (first.ours, first.holds, first.held, first.draws) == ("2", True, 3, 5)
    assert (first.least, first.most) == (0, 4)
    assert (second.holds, second.held) == (False, 4)
    assert summary([outcome]) == "1 of the paper's 1 claims hold, 0 of our 1"


def test_real_streams_stand_beside_a_claim(tmp_path: Path) -> None:
    setting = Setting(seed=0, data=tmp_path)
    (outcome,) = reproduce(Paper("d", "D", (DRAWN,)), setting, tmp_path / "out")
    first, _ = outcome.claims
    assert first.holds
    assert [(each.stream, each.holds) for each in first.evidence] == [
        ("words", True),
        ("clicks", False),
    ]
