# `make` alone prints what there is to do. Every target creates .venv and installs what it needs.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
# on two processors: some tests wait for a disk, or for other processes
JOBS   ?= 3
DEVELOP := test,check

# uv installs in a sixth of pip's time; where it cannot reach the index that pip was told of, pip does it
PIP     = $(BIN)/python -m pip install --quiet --disable-pip-version-check
INSTALL = $(BIN)/uv pip install --quiet --python $(BIN)/python --editable '.[$(1)]' || $(PIP) --editable '.[$(1)]'

.DEFAULT_GOAL := help
.PHONY: help venv demo test test-fast test-spark check format docs bench stress examples clean

help: ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  \033[36mmake %-10s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: $(STAMP) ## create .venv with the package and all development tools

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) uv
	$(call INSTALL,$(DEVELOP))
	touch $@

$(VENV)/.spark: $(STAMP)
	$(call INSTALL,spark)
	touch $@

$(VENV)/.bench: $(STAMP)
	$(call INSTALL,bench)
	touch $@

demo: $(STAMP) ## a log table imported, searched and drawn in your terminal
	@$(BIN)/python examples/demo.py

test: $(STAMP) ## run all tests
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal --ignore tests/spark -m 'not stress and not java'

test-fast: $(STAMP) ## run the quick tests only
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal --ignore tests/spark -m 'not slow and not stress and not java'

test-spark: $(VENV)/.spark ## tables in Spark, and Java's own Avro on what we write (needs Java 17 or newer)
	$(BIN)/python -m pytest -m 'spark or java'

check: $(STAMP) ## lint, types, layers, generated pages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m indextables.core.options --check docs/reference/options.md

format: $(STAMP) ## format the code and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(STAMP) ## write the generated reference pages
	$(BIN)/python -m indextables.core.options --write docs/reference/options.md

bench: $(VENV)/.bench ## compare with deltalake, pyiceberg, lance and DuckDB in the same run
	$(BIN)/python bench/run.py

stress: $(STAMP) ## full-size races and more than 20,000 simulated schedules (about an hour)
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal -m stress --timeout 7200 -s

examples: $(STAMP) ## all tests again, property tests with ten times the examples
	EFFORT=10 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal --ignore tests/spark -m 'not stress and not java' --timeout 3600

clean: ## remove .venv and caches
	rm -rf $(VENV) .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache .bench
