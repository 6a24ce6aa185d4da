# Every command a user or contributor needs. `make` alone lists them.
PYTHON ?= python3
# Without its bytecode every Python process compiles pandas, numba and PySpark again: seconds for
# each of Spark's workers.
unexport PYTHONDONTWRITEBYTECODE
BIN := .venv/bin
# What is installed: enough for a demo, or all that developing takes.
DEMO := .venv/.demo
DEV := .venv/.dev
PAGES := README.md CONTRIBUTING.md CHANGELOG.md docs
SECONDS_ONLY := not long and not browser
# Tests of Spark first, file by file, on one session per core; the small ones then fill both up.
ON_SPARK := -n 2 --dist loadgroup --no-loadscope-reorder -m "$(SECONDS_ONLY)"

.DEFAULT_GOAL := help
.PHONY: help demo test test-fast test-long test-connect test-browser test-python test-install coverage lint api \
	bench chaos fuzz kafka-test docs format lock clean java

help: ## List the commands
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(DEMO) java ## A straggling job on an embedded Spark, plain and with unskew
	@$(BIN)/unskew demo

test: $(DEV) java ## Run all tests and doctests but the minutes-long ones
	@$(BIN)/pytest -q $(ON_SPARK)

test-fast: $(DEV) ## Run the tests that need neither Java nor a browser
	@$(BIN)/pytest -q -n 2 -m "$(SECONDS_ONLY) and not spark"

test-long: $(DEV) java ## Run the tests that take minutes, and more examples of the others
	@UNSKEW_TEST_PROFILE=thorough $(BIN)/pytest -q $(ON_SPARK)
	@UNSKEW_TEST_PROFILE=thorough $(BIN)/pytest -q -m "long and not browser"

test-connect: $(DEV) java ## Run the Spark tests through Spark Connect
	@UNSKEW_TEST_MODE=connect $(BIN)/pytest -q -m "spark and not long"

test-browser: $(DEV) ## Try the pages in a real headless Chromium
	@tools/ensure-chromium
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[browser]"
	@$(BIN)/pytest -q -m browser tests/browser

test-python: java ## Test on Python 3.11, 3.12 and 3.13 with the newest dependencies
	@tools/test_python $(PYTHONS)

test-install: ## Install wheel and sdist with each extra into empty environments
	@PYTHON="$(PYTHON)" tools/test_install $(EXTRAS)

coverage: $(DEV) java ## Run all tests and show the lines that none of them runs
	@$(BIN)/pytest -q $(ON_SPARK) --cov --cov-report=term

lint: $(DEV) ## Check style, types, import rules, pages and generated tables
	@tools/lint $(PAGES)

api: $(DEV) ## Write the public names and signatures down after a change
	@$(BIN)/python -m tests.public_api

bench: $(DEV) ## Measure speed; prints ratios to their baselines
	@$(BIN)/unskew bench

chaos: $(DEV) java ## Kill drivers and executors of a stateful stream; check every row
	@$(BIN)/python -m tests.chaos.run $(CHAOS)

SEED ?= 1
CASES ?= 2000
SECONDS ?= 600
fuzz: $(DEV) java ## Compare random jobs with plain Spark: SEED= CASES= SECONDS=
	@$(BIN)/python -m tests.fuzz.run --seed $(SEED) --cases $(CASES) --seconds $(SECONDS) $(FUZZ)

kafka-test: $(DEV) java ## Streams from Kafka and back, with a killed driver and a restarted broker
	@$(BIN)/python -m tests.kafka.run $(KAFKA)

docs: $(DEV) ## Write the generated tables and build the site, strictly
	@$(BIN)/python tools/docs/generate.py
	@$(BIN)/pymarkdown scan $(PAGES)
	@$(BIN)/python tools/docs/build.py

format: $(DEV) ## Format the code
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .

lock: $(DEV) ## Rewrite constraints.txt from what is installed now
	@$(BIN)/pip freeze --exclude-editable > constraints.txt

clean: ## Remove the environments and everything generated
	@rm -rf .venv .venvs .pytest_cache .mypy_cache .ruff_cache .hypothesis htmlcov .coverage demo-output site

java:
	@tools/ensure-java

$(DEMO): pyproject.toml constraints.txt tools/install
	@PYTHON="$(PYTHON)" tools/install .venv spark --constraint constraints.txt
	@touch $@

$(DEV): pyproject.toml constraints.txt tools/install
	@PYTHON="$(PYTHON)" tools/install .venv dev --constraint constraints.txt
	@touch $(DEMO) $@
