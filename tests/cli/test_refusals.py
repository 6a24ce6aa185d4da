"""Bad input on the command line: exit code 2, one message, no traceback, and no Spark started."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

STREAM = "--zipf 1 --keys 50 --messages 500"
SIMULATE = "simulate --scheme pkg --workers 4"
REBALANCE = "rebalance ok.csv --algorithm level --workers 3"
FILES = {
    "ok.csv": b"key,cost,memory\na,1,1\nb,2,2\n",
    "empty.csv": b"",
    "head.csv": b"key,cost\n",
    "words.csv": b"key,cost\na,x\n",
    "negative.csv": b"key,cost\na,-1\n",
    "nan.csv": b"key,cost\na,nan\n",
    "workers.csv": b"key,cost,worker\na,1,9\nb,1,-1\n",
    "ragged.csv": b"key,cost\n1\n1,2,3\n",
    "latin.csv": b"key\n\xff\xfe\n",
    "binary.dat": bytes(range(256)),
    "broken.parquet": b"PAR1garbage",
}
SCHEMES = ["", "pgk", "PKG", "x" * 5000, "a\x1b[31m"]
WORKERS = ["0", "-1", "1.5", "x", "16777217", "9" * 400]
UNREADABLE = ["nowhere", "folder", *(name for name in FILES if name != "ok.csv"), "x" * 5000]
WITH_KEYS = ("words.csv", "negative.csv", "nan.csv", "workers.csv", "latin.csv")
"""Wrong as statistics of keys; as streams they have a key, if only of bytes."""


def with_words(command, *words):
    return [*command.split(), *words]


def commands():
    for scheme in SCHEMES:
        yield with_words(f"simulate --workers 4 {STREAM} --scheme", scheme)
        yield with_words("run wordcount --scheme", scheme)
    for number in WORKERS:
        yield with_words(f"simulate --scheme pkg {STREAM} --workers", number)
        yield with_words(f"compare {STREAM} --workers", number)
        yield with_words("rebalance ok.csv --algorithm level --workers", number)
        yield with_words(f"{REBALANCE} --before", number)
        yield with_words("run wordcount --workers", number)
        yield with_words("diagnose ok.csv --key key --workers", number)
    for number in ("0", "-1", "x", "100001", "9" * 400):
        yield with_words(f"{SIMULATE} {STREAM} --sources", number)
    for number in ("-1", "nan", "inf", "x", ""):
        yield with_words(f"{SIMULATE} --zipf", number)
    for number in ("0", "-1", "x", "9" * 15, "9" * 400):
        yield with_words(f"{SIMULATE} --zipf 1 --keys", number)
    for number in ("-1", "x", "9" * 400):
        yield with_words(f"{SIMULATE} --zipf 1 --messages", number)
        yield with_words(f"{SIMULATE} {STREAM} --seed", number)
    for setting in ("", "=", "choices", "choices=", "=3", "choices=0", "choices=1.5", "choices=x"):
        yield with_words(f"{SIMULATE} {STREAM} --set", setting)
    for setting in ("choises=2", "estimate=z", "distinct=maybe", "workers=3", "x" * 3000 + "=1"):
        yield with_words(f"{SIMULATE} {STREAM} --set", setting)
    for scheme, settings in {
        "planned-split": ["keys=1", "counts=1", "mode=x", "interval=0", "counters=0", "epsilon=0"],
        "cg": ["virtual=-1", "virtual=99999999999", "epsilon=nan", "window=-1", "eager=x"],
        "ring": ["replicas=0", "replicas=99999999999", "arcs=3"],
        "posg": ["window=0", "delta=1", "epsilon=2", "seed=-1", "clock=x"],
        "routing-table": ["base=kg", "max_entries=-1"],
    }.items():
        for setting in settings:
            yield with_words(f"simulate --workers 4 {STREAM} --scheme {scheme} --set", setting)
    for text in ("", "x", "9x5", "1,2", "2xnan", "2x0", "equal@-1", "equal;2x5", "1,1,1,0"):
        yield with_words(f"{SIMULATE} {STREAM} --capacities", text)
    for number in ("0", "-1", "nan", "inf", "x"):
        yield with_words(f"{SIMULATE} {STREAM} --rate", number)
        yield with_words(f"{SIMULATE} {STREAM} --rate 0.8 --aggregate", number)
    for setting in ("", "busy", "busy=x", "busy=0.5", "idle=-1", "slot=0", "by=x", "nonsense=1"):
        yield with_words(f"{SIMULATE} {STREAM} --rate 0.8 --signals", setting)
    yield with_words(f"{SIMULATE} {STREAM} --signals", "busy=0.9")
    for text in ("", "x"):
        yield with_words(f"{SIMULATE} {STREAM} --service", text)
        yield with_words(f"compare --workers 4 {STREAM} --need", text)
        yield with_words(f"{REBALANCE} --base", text)
        yield with_words("rebalance ok.csv --workers 3 --algorithm", text)
        yield with_words("demo --data", text)
        yield with_words("bench", text or "y")
        yield with_words("reproduce", text)
        yield with_words("run", text)
    for text in ("", "1", "x,y", "1,-1", "nan,1", "1,inf", "1,2,3"):
        yield with_words(f"{SIMULATE} --messages 100 --lognormal", text)
    for name in UNREADABLE:
        if name not in WITH_KEYS:
            yield with_words(f"{SIMULATE} --key key --input", name)
        if name != "head.csv":  # no keys, nothing to move
            yield ["rebalance", name, "--algorithm", "level", "--workers", "3"]
    for name in ("nowhere", "binary.dat", "broken.csv", "x" * 5000):
        yield ["diagnose", name, "--key", "key"]
        yield ["run", "wordcount", "--input", name]
    for setting in ("theta=-1", "theta=nan", "theta=x", "r=99", "beta=-1", "table=-1", "zz=1", "x"):
        yield with_words("rebalance ok.csv --algorithm mixed --workers 3 --set", setting)
    for sample in ("0", "-1", "2", "nan", "x"):
        yield with_words("diagnose ok.csv --key key --sample", sample)
    yield from map(str.split, OTHERS)


OTHERS = [
    "nonsense",
    "--nonsense",
    "simulate",
    "simulate --scheme pkg",
    "simulate --nonsense",
    SIMULATE,
    f"{SIMULATE} {STREAM} --aggregate 5",
    f"{SIMULATE} {STREAM} --set source-by=luck",
    f"{SIMULATE} {STREAM} --set source-by=key --rate 1",
    f"{SIMULATE} {STREAM} --key key",
    f"{SIMULATE} {STREAM} --lognormal 1,2",
    f"{SIMULATE} --input ok.csv",
    f"{SIMULATE} --input ok.csv --key kye",
    f"{SIMULATE} --input hostile.parquet --key key",
    f"{SIMULATE} --input maps.parquet --key key",
    f"{SIMULATE} --input norows.parquet --key key",
    "compare --workers 4",
    f"compare --workers 4 {STREAM} --sources 0",
    f"compare --workers 4 {STREAM} --plot nowhere/x.png",
    f"compare --workers 4 {STREAM} --plot folder",
    f"compare --workers 4 {STREAM} --plot x.docx",
    "rebalance",
    "rebalance ok.csv",
    f"{REBALANCE} --out nowhere/x.json",
    f"{REBALANCE} --out folder",
    "reproduce",
    "reproduce posg --quick --figure nonsense",
    "reproduce posg --quick --data nowhere",
    "reproduce posg --quick --data folder",
    "reproduce posg --quick --seed -1",
    "reproduce posg --quick --jobs 0",
    "reproduce posg --quick --out ok.csv",
    "reproduce posg --quick --out ok.csv/below",
    "bench spark --data nowhere",
    "bench spark --data folder",
    "demo --out ok.csv",
    "demo --out ok.csv/below",
    "run wordcount --column text",
    "run wordcount --column zzz=text",
    "run wordcount --compare --scheme kg",
    "diagnose",
    "diagnose ok.csv",
    "diagnose ok.csv --key key --html nowhere/x.html",
    "diagnose ok.csv --key key --html folder",
]


@pytest.fixture
def no_spark(monkeypatch):
    session = pytest.importorskip("unskew._spark.session")

    def refuse(*_, **__):
        raise AssertionError("Spark was started")

    monkeypatch.setattr(session, "local_session", refuse)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    pq.write_table(pa.table({"k\x1b[31m\u202e": [1]}), "hostile.parquet")
    pq.write_table(pa.table({"key": pa.array([], pa.int64())}), "norows.parquet")
    maps = pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64()))
    pq.write_table(pa.table({"key": maps}), "maps.parquet")
    return tmp_path


def complaint(code, out, err):
    """What is wrong with an answer to bad input."""
    if code != 2:
        return f"exit code {code}: {out[:200]}"
    if out or not err.strip() or len(err) > 2000:
        return f"prints {len(out)} characters and {len(err)} as an error"
    if "Traceback" in err or "\x1b[31m" in err:
        return "a traceback, or colours from the data"
    return None


def test_bad_input_is_one_message_and_exit_code_2(run, folder, no_spark):
    answers = {" ".join(words)[:100]: complaint(*run(*words)) for words in commands()}
    assert len(answers) > 200
    assert {words: wrong for words, wrong in answers.items() if wrong} == {}
