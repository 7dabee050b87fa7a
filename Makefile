# Every target sets up what it needs: a .venv made by plain python3 and pip, once, and again when
# pyproject.toml or constraints.txt have changed.

PYTHON ?= python3
ARGS ?=
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.DEFAULT_GOAL := help
# Where this is set, every process of the tests compiles all sources anew: a third of their time.
export PYTHONDONTWRITEBYTECODE :=
.PHONY: help demo kafka-demo test adequacy pipelines lint format fuzz bench peers tables pictures docs dist clean

help: ## Show this list
	@echo "Usage: make TARGET [ARGS='more arguments']"
	@echo
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(READY) ## Find patterns in a day of generated trades on embedded Spark (ARGS='--engine local' without)
	@$(BIN)/ensue demo --engine spark $(ARGS)

kafka-demo: $(READY) ## Send trades to a Kafka broker of its own, and show alerts as they come (ARGS='--seconds 60')
	@$(BIN)/python -m examples.kafka.demo $(ARGS)

# Three processes on two cores: two have the tests on Spark, which mostly wait.
test: $(READY) ## Run all tests and doctests (ARGS='-k printer' for some of them)
	@$(BIN)/python -m pytest -q -n 3 $(ARGS)

adequacy: $(READY) ## Ask whether the tests would notice: engines that are wrong, what random queries cover
	@$(BIN)/python -m pytest -q -n 2 -m adequacy tests $(ARGS)

pipelines: $(READY) ## Run more streams, and the tests with a browser, Kafka, Delta Lake, Iceberg, executors, Connect (fetches jars once)
	@$(BIN)/python -m pytest -q -m pipelines tests/play tests/spark $(ARGS)

lint: $(READY) ## Check style, formatting, types and who imports whom
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo

format: $(READY) ## Format the code and mend what can be mended mechanically
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

FUZZED := tests/equivalence tests/automata tests/analysis tests/io tests/language tests/predicates tests/kernels \
  tests/stream tests/engine/test_snapshot.py tests/engine/test_user_functions.py tests/engine/test_user_aggregates.py \
  tests/cli/test_checkpoint.py tests/spark/test_batch_eq_local.py
# tests/effort.py says how many examples a round asks for in each test.
ROUNDS ?= 14

fuzz: $(READY) ## Run the property tests on a million examples (takes hours; ROUNDS=1 is a fourteenth)
	@for round in $$(seq $(ROUNDS)); do \
	  echo "Round $$round of $(ROUNDS)"; \
	  ENSUE_FUZZ=1 $(BIN)/python -m pytest -q -n 2 -m 'not adequacy and not pipelines' $(FUZZED) $(ARGS) || exit 1; \
	done

bench: $(READY) ## Run the benchmarks
	@$(BIN)/python -m bench $(ARGS)

PEERS := bench/peers/.venv
peers: $(PEERS)/.ready ## Run other engines beside Ensue and write docs/comparison.md (ARGS='--engines DuckDB,Esper')
	@PYTHONPATH=. $(PEERS)/bin/python -m bench.peers $(ARGS)

$(PEERS)/.ready: bench/peers/requirements.txt pyproject.toml constraints.txt
	@test -x $(PEERS)/bin/python || $(PYTHON) -m venv $(PEERS)
	@$(PEERS)/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -r bench/peers/requirements.txt -e '.[spark]'
	@touch $@

tables: $(READY) ## Generate the parser's tables from the grammar, and what editors read
	@$(BIN)/python -m ensue.language.generate
	@$(BIN)/python -m ensue.editor.generate

pictures: $(READY) ## Draw the pictures of the documentation
	@$(BIN)/python -W ignore docs/pictures/make.py

docs: $(VENV)/.docs ## Build the site into build/site, with all links checked
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "Open build/site/index.html"

# Environments of their own, so that what is tried is the wheel and nothing else.
dist: ## Build sdist and wheel into dist/, check them, and try the wheel in fresh environments
	@rm -rf dist build/dist && mkdir -p build/dist
	@$(PYTHON) -m venv build/dist/tools
	@build/dist/tools/bin/python -m pip install --quiet --disable-pip-version-check 'build>=1.2' 'twine>=6'
	@build/dist/tools/bin/python -m build --outdir dist .
	@build/dist/tools/bin/twine check --strict dist/*
	@for extra in '' '[spark]'; do \
	  rm -rf build/dist/fresh && $(PYTHON) -m venv build/dist/fresh && \
	  build/dist/fresh/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt \
	    "$$(echo dist/*.whl)$$extra" && \
	  (cd build/dist && PYTHONPATH= fresh/bin/python ../../release/smoke.py $${extra:+--spark}) || exit 1; \
	done

clean: ## Remove caches and build products (.venv stays)
	@rm -rf build dist .coverage .coverage.* htmlcov .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find . -path ./$(VENV) -prune -o -type d -name __pycache__ -exec rm -rf {} +

$(VENV)/.docs: $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev,docs]'
	@touch $@

$(READY): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "Ensue needs Python 3.11 or later; choose one with: make PYTHON=python3.11 ..." >&2; exit 1; }
	@test -x $(BIN)/python || echo "Setting up $(VENV), once; this takes about a minute." >&2
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@
