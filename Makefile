# Every command a user or contributor needs. `make` alone lists them.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
PAGES := README.md CONTRIBUTING.md CHANGELOG.md docs

.DEFAULT_GOAL := help
.PHONY: help demo test test-long test-connect test-browser test-install lint bench chaos kafka-test docs format \
	lock clean java

help: ## List the commands
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: $(READY) java ## A straggling job on an embedded Spark, plain and with unskew
	@$(BIN)/unskew demo

test: $(READY) java ## Run all tests and doctests, with coverage
	@$(BIN)/pytest -n 3 --dist loadgroup -m "not long and not browser" --cov --cov-report=term -q

test-browser: $(READY) ## Try the pages in a real headless Chromium
	@tools/ensure-chromium
	@$(BIN)/pytest -m browser -q tests/browser

test-long: $(READY) java ## Run the tests that take minutes: kills, clusters, a notebook on Spark
	@$(BIN)/pytest -m "long and not browser" -q

test-connect: $(READY) java ## Run the Spark tests through Spark Connect
	@UNSKEW_TEST_MODE=connect $(BIN)/pytest -m "spark and not long" -q

lint: $(READY) ## Check style, types, import rules, pages and generated tables
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/python tools/generate_docs.py --check
	@$(BIN)/pymarkdown scan $(PAGES)

bench: $(READY) ## Measure speed; prints ratios to their baselines
	@$(BIN)/unskew bench

chaos: $(READY) java ## Kill drivers and executors of a stateful stream; check every row
	@$(BIN)/python tools/chaos.py $(CHAOS)

kafka-test: $(READY) java ## Streams from Kafka and back, with a killed driver and a restarted broker
	@$(BIN)/python tools/kafka_test.py $(KAFKA)

docs: $(READY) ## Write the generated tables and build the site, strictly
	@$(BIN)/python tools/generate_docs.py
	@$(BIN)/pymarkdown scan $(PAGES)
	@$(BIN)/python tools/build_docs.py

test-install: ## Install wheel and sdist with each extra into empty environments
	@PYTHON="$(PYTHON)" tools/test_install $(EXTRAS)

format: $(READY) ## Format the code
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .

lock: $(READY) ## Rewrite constraints.txt from what is installed now
	@$(BIN)/pip freeze --exclude-editable > constraints.txt

clean: ## Remove the environment and everything generated
	@rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis htmlcov .coverage demo-output site

java:
	@tools/ensure-java

$(READY): pyproject.toml constraints.txt tools/install
	@PYTHON="$(PYTHON)" tools/install
	@touch $@
