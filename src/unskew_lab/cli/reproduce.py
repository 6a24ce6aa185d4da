"""`unskew reproduce`: a paper's figures, beside the paper's own numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from unskew.cli.completion import one_of
from unskew.cli.options import Json
from unskew.cli.outputs import check_extra, check_out_folder
from unskew.cli.terminal import console, figure_bar, print_json
from unskew.errors import InputError, MissingExtraError, ParameterError, UnknownNameError
from unskew.partitioners.contract import check_seed
from unskew_lab.cluster import PAPERS as ON_CLUSTER
from unskew_lab.cluster import reproduce_on_cluster
from unskew_lab.papers import PAPERS
from unskew_lab.papers.drawing import can_draw
from unskew_lab.papers.running import reproduce as run
from unskew_lab.papers.specification import Setting
from unskew_lab.papers.table import summary, tables

PaperName = Annotated[
    str,
    typer.Argument(
        metavar="PAPER", help=f"One of {', '.join(PAPERS)}.", autocompletion=one_of(PAPERS)
    ),
]
FigureName = Annotated[str | None, typer.Option(help="Only this figure; a wrong name lists all.")]
Quick = Annotated[bool, typer.Option("--quick", help="Use smaller streams; takes minutes.")]
Out = Annotated[
    Path | None, typer.Option(help="Folder for the results; a stopped run resumes from it.")
]
Data = Annotated[Path | None, typer.Option(help="A folder of Parquet streams with a column key.")]
Seed = Annotated[int, typer.Option(help="Seed of the generated streams.")]
OnCluster = Annotated[
    bool,
    typer.Option("--cluster", help="Reproduce the cluster figures, on a local standalone cluster."),
]
Kafka = Annotated[
    Path | None,
    typer.Option(
        help="With --cluster: a folder of jars (broker/, connector/); streams are topics."
    ),
]
Jobs = Annotated[
    int | None, typer.Option(help="Measurements at a time; one per core if not given.")
]


def reproduce(
    paper: PaperName,
    figure: FigureName = None,
    quick: Quick = False,
    out: Out = None,
    data: Data = None,
    seed: Seed = 42,
    jobs: Jobs = None,
    cluster: OnCluster = False,
    kafka: Kafka = None,
    as_json: Json = False,
) -> None:
    """Measure a paper's claims and say which hold.

    Writes a CSV, a PNG and an interactive page per figure, and claims.json.

    Example:

      unskew reproduce partial-key-grouping --quick

      unskew reproduce consistent-grouping --cluster --quick
    """
    papers = ON_CLUSTER if cluster else PAPERS
    if cluster:
        check_extra("pyspark", "lab")
    if paper not in papers:
        raise UnknownNameError("paper", paper, papers)
    if kafka is not None:
        _check_kafka(kafka, cluster)
    if data is not None and not list(data.glob("*.parquet")):
        raise InputError(f"no Parquet files in {data}; give a folder of streams, or remove --data")
    chosen = papers[paper]
    chosen.pick(figure)  # raises if there is none of that name
    check_seed(seed)
    if jobs is not None and jobs < 1:
        raise ParameterError(f"--jobs {jobs} is not at least 1; without it there is one per core")
    check_out_folder(out, "--out")
    parts = {"-cluster": cluster, "-kafka": kafka is not None, "-quick": quick}
    kind = "".join(name for name, asked in parts.items() if asked)
    folder = out or Path("reproduced") / f"{paper}{kind}"
    setting = Setting(quick=quick, data=data, seed=seed, kafka=kafka)
    with figure_bar(shown=not as_json) as progress:
        if cluster:
            results = reproduce_on_cluster(chosen, setting, folder, figure, progress)
        else:
            results = run(chosen, setting, folder, figure, jobs, progress)
    if as_json:
        print_json([row for result in results for row in result.as_rows()])
        return
    for grid in tables(chosen.title, results):
        console.print(grid)
    console.print(f"{summary(results)}. Tables and pictures are in {folder}/")
    if not can_draw():
        console.print(f"No pictures: {MissingExtraError('matplotlib', 'lab')}", markup=False)


def _check_kafka(jars: Path, cluster: bool) -> None:
    if not cluster:
        raise ParameterError("--kafka is for the figures of --cluster; add it, or remove --kafka")
    check_extra("kafka", "kafka")
    for part in ("broker", "connector"):
        if not list((jars / part).glob("*.jar")):
            raise InputError(
                f"no jars in {jars / part}; python -m tests.kafka.jars {jars} fetches them"
            )
