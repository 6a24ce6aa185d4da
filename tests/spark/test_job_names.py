"""Names of jobs, and fingerprints that change exactly when a function does."""

from __future__ import annotations

import functools
import re
import subprocess
import sys
import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.hostile import HOSTILE

from unskew._spark.planning.job_names import fingerprint, job_name


def mean_of(rows):
    return rows.mean()


def made(text, name="f", **names):
    """A function of a text, in a module of its own."""
    space = {"__name__": "job", **names}
    exec(compile(textwrap.dedent(text), "job.py", "exec"), space)
    return space[name]


def test_a_name_tells_the_place():
    name = job_name(None, "applyInPandas", ["user", "day"], mean_of)
    assert name.startswith(
        "test-job-names.py-test-a-name-tells-the-place-applyInPandas-user-day-mean-of-"
    )
    assert name == job_name(None, "applyInPandas", ["user", "day"], mean_of)


def test_everything_that_makes_a_name_counts():
    names = [
        job_name(None, "applyInPandas", ["user"], mean_of),
        job_name(None, "applyInArrow", ["user"], mean_of),
        job_name(None, "applyInPandas", ["user", "day"], mean_of),
        job_name(None, "applyInPandas", ["user"], len),
        job_name(None, "agg", ["user"], None),
        job_name("user", "agg", [], None),
        (lambda: job_name(None, "applyInPandas", ["user"], mean_of))(),
    ]
    assert len(set(names)) == len(names)


def test_lambdas_of_one_function_are_several_jobs():
    text = """
        def f():
            one = job_name(None, "agg", ["k"], lambda x: {})
            return one, job_name(None, "agg", ["k"], lambda x: {})
    """
    names = [made(text.format(*each), job_name=job_name)() for each in ((1, 2), (1, 1), (3, 2))]
    assert len(set(names[0])) == 2
    # A job whose function has changed has its name: that it has changed is told.
    assert names[0] == names[1] == names[2]


def test_a_given_name_is_all_that_counts():
    first = job_name("nightly sessions", "agg", ["user"], None)
    assert first == job_name("nightly sessions", "applyInArrow", ["day"], mean_of)
    assert first.startswith("nightly-sessions-")
    assert first != job_name("nightly/sessions", "agg", ["user"], None)


def test_frames_of_unskew_and_spark_are_no_place():
    text = "def f(): return job_name(None, 'agg', [], None)"
    space = {"job_name": job_name}
    inner = made(text, **space, __builtins__={})
    direct = inner()
    assert direct.startswith("job.py-f-agg-")
    for package in ("unskew._spark.verbs.map", "pyspark.sql.dataframe"):
        ours = made(text, **space)
        ours.__globals__["__name__"] = package
        assert ours().startswith("test-job-names.py-test-frames-of-unskew")


@pytest.mark.parametrize("file", ["<stdin>", "<ipython-input-3-a>", "/tmp/ipykernel_12/34.py"])
def test_cells_are_all_one_place(file):
    space = {"job_name": job_name}
    exec(compile("found = job_name(None, 'agg', ['k'], None)", file, "exec"), space)
    assert space["found"].startswith("interactive-module-agg-k-")


@given(st.text() | st.sampled_from(sorted(HOSTILE.values())))
def test_any_name_is_a_folder(text):
    for name in (job_name(text, "agg", [], None), job_name(None, "agg", [text], None)):
        assert re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9.-]{11,100}", name)
        assert ".." not in name or "/" not in name


SAME = {
    "comment": "def f(x):\n    # why\n    return x + 1",
    "empty line": "\n\n\ndef f(x):\n\n    return x + 1",
}
OTHER = {
    "constant": "def f(x): return x + 2",
    "type of constant": "def f(x): return x + 1.0",
    "sign": "def f(x): return x - 1",
    "name": "def f(y): return y + 1",
    "default": "def f(x=3): return x + 1",
    "keyword default": "def f(x, *, y=3): return x + 1",
    "nested": "def f(x): return (lambda: x + 1)()",
    "nested constant": "def f(x): return (lambda: x + 2)()",
    "attribute": "def f(x): return x.a",
    "other attribute": "def f(x): return x.b",
    "set": "def f(x): return x in {1, 2, 3}",
    "other set": "def f(x): return x in {1, 2, 4}",
    "helper": "def g(x): return 1\ndef f(x): return g(x)",
    "other helper": "def g(x): return 2\ndef f(x): return g(x)",
    "recursive": "def f(x): return f(x)",
    "closure": "def o(g): return lambda x: g(x)\nf = o(lambda x: 1)",
    "other closure": "def o(g): return lambda x: g(x)\nf = o(lambda x: 2)",
}
BASE = "def f(x): return x + 1"


@pytest.mark.parametrize("text", SAME.values(), ids=SAME)
def test_what_changes_nothing_keeps_the_fingerprint(text):
    assert fingerprint(made(text)) == fingerprint(made(BASE))


def test_what_changes_something_changes_the_fingerprint():
    prints = [fingerprint(made(text)) for text in (BASE, *OTHER.values())]
    assert len(set(prints)) == len(prints)


def test_data_that_a_function_was_given_does_not_count():
    outer = made("def f(day):\n    def inner(x): return x, day\n    return inner")
    assert fingerprint(outer("monday")) == fingerprint(outer("tuesday"))
    function = made(BASE)
    assert fingerprint(functools.partial(function, 1)) == fingerprint(function)


def test_callables_of_every_kind_have_a_fingerprint():
    text = "class f:\n    def __init__(self, n): self.n = n\n    def __call__(self, x): return {}"
    one, two = made(text.format(1)), made(text.format(2))
    derived = type("derived", (one,), {})
    assert fingerprint(one(1)) == fingerprint(one(2)) == fingerprint(derived(1))
    assert fingerprint(one(1)) != fingerprint(two(1))
    assert fingerprint(one(1).__call__) == fingerprint(one(1))
    assert len({fingerprint(each) for each in (len, max, int, str.upper, print)}) == 5


def test_a_fingerprint_is_the_same_in_every_process():
    program = (
        "from unskew._spark.planning.job_names import fingerprint\n"
        "def f(x, y={'a', 'b', 'c'}, z=object()):\n"
        "    return x in {'p', 'q', 'r', 's'}, [g for g in x], lambda: y\n"
        "print(fingerprint(f))"
    )
    prints = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(prints) == 1
