"""The commands that the laboratory adds to `unskew`: one module for each."""

TITLE = "Laboratory"

COMMANDS = {
    "reproduce": "Measure a paper's claims and say which hold.",
    "run": "Run an application of the papers on an embedded Spark and check its result.",
    "bench": "Measure speed; every figure is a ratio to a baseline of the same run.",
}
