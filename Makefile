# `make` alone prints what there is to do. Every target creates .venv and installs what it needs.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed
# on two processors: some tests wait for a disk, or for other processes
JOBS   ?= 3
DEVELOP := test,check
# a requirement of its own for Spark, such as pyspark[connect]==4.2.*; empty for the newest that is allowed
SPARK   ?=
# random queries of spark-matrix, on each of two masters
QUERIES ?= 600

# uv installs in a sixth of pip's time. It trusts the certificates of this machine, as pip does; where it fails all the same (it does
# not read the index that pip is configured with), pip does it
PIP     = $(BIN)/python -m pip install --quiet --disable-pip-version-check
UV      = UV_SYSTEM_CERTS=1 $(BIN)/uv pip install --quiet --python $(BIN)/python
INSTALL = @echo "installing .[$(1)]"; $(UV) --editable '.[$(1)]' $(2) 2>$(VENV)/uv.log || \
	{ echo "uv could not install .[$(1)] ($(VENV)/uv.log says why): pip does, in a minute or two"; $(PIP) --editable '.[$(1)]' $(2); }
OLDEST  := .venv-4.2
OF_OLDEST = VENV=$(OLDEST) SPARK='pyspark[connect]==4.2.*'
PYTEST  = -m pytest -n $(JOBS) --dist worksteal
# A run of the tests starts hundreds of processes. What one of them has compiled the others find, also where the environment says that
# no bytecode is to be written beside the sources. uv compiles nothing when it installs, and to compile pandas alone takes four seconds
TEST_IN = PYTHONDONTWRITEBYTECODE= PYTHONPYCACHEPREFIX='$(abspath $(1))/bytecode' $(1)/bin/python
TESTER  = $(call TEST_IN,$(VENV))

.DEFAULT_GOAL := help
.PHONY: help venv demo test test-fast test-spark test-spark-oldest spark-matrix spark-endurance spark-matrix-oldest spark-endurance-oldest check format docs house bench stress examples clean

help: ## show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## / {printf "  \033[36mmake %-23s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

venv: $(STAMP) ## create .venv with the package and all development tools

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP) uv
	$(call INSTALL,$(DEVELOP))
	touch $@

$(VENV)/.spark: $(STAMP)
	$(call INSTALL,spark,$(if $(SPARK),'$(SPARK)'))
	touch $@

$(VENV)/.bench: $(STAMP)
	$(call INSTALL,bench)
	touch $@

demo: $(STAMP) ## a log table imported, searched and drawn in your terminal
	@$(BIN)/python examples/demo.py

test: $(VENV)/.spark ## run all tests, those of Spark and Java too (a Java comes from PyPI where there is none)
	$(TESTER) tools/with_java.py $(PYTEST) -m 'not stress'

test-fast: $(STAMP) ## run the quick tests only, without Spark
	$(TESTER) $(PYTEST) --ignore tests/spark -m 'not slow and not stress and not java'

test-spark: $(VENV)/.spark ## of all tests, those that need Spark or Java
	$(TESTER) tools/with_java.py $(PYTEST) -m '(spark or java) and not stress'

test-spark-oldest: ## the tests of Spark with the oldest Spark that is supported (4.2), in .venv-4.2
	$(MAKE) $(OF_OLDEST) $(OLDEST)/.spark
	$(call TEST_IN,$(OLDEST)) tools/with_java.py $(PYTEST) tests/spark -m 'not stress'

spark-matrix: $(VENV)/.spark ## 600 random queries beside Parquet, on one machine and on a cluster of processes (about an hour)
	MATRIX_QUERIES=$(QUERIES) $(TESTER) tools/with_java.py -m pytest tests/spark/test_queries_same_as_parquet.py --timeout 1800 -s
	MATRIX_QUERIES=$(QUERIES) SPARK_MASTER='local-cluster[2,1,1024]' \
		$(TESTER) tools/with_java.py -m pytest tests/spark/test_queries_same_as_parquet.py --timeout 1800 -s

spark-endurance: $(VENV)/.spark ## many queries, many threads, cancelled and killed ones (five minutes)
	temporary=$$(mktemp -d) && TMPDIR=$$temporary JAVA_TOOL_OPTIONS=-Djava.io.tmpdir=$$temporary \
		$(TESTER) tools/with_java.py -m pytest tests/spark -m stress --timeout 600 -s; code=$$?; rm -rf $$temporary; exit $$code

spark-matrix-oldest: ## spark-matrix with the oldest Spark that is supported (4.2), in .venv-4.2
	$(MAKE) $(OF_OLDEST) spark-matrix

spark-endurance-oldest: ## spark-endurance with the oldest Spark that is supported (4.2), in .venv-4.2
	$(MAKE) $(OF_OLDEST) spark-endurance

check: $(STAMP) ## lint, types, layers, generated pages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m indextables.core.options --check docs/reference/options.md
	$(BIN)/python -m tools.house.imports_page --check docs/design/imports.md

format: $(STAMP) ## format the code and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(STAMP) ## write the generated pages
	$(BIN)/python -m indextables.core.options --write docs/reference/options.md
	$(BIN)/python -m tools.house.imports_page --write docs/design/imports.md

house: $(VENV)/.spark ## how easily a stranger finds a way through the code: figures before, now, and their goals
	$(BIN)/python -m tools.house

bench: $(VENV)/.bench ## compare with deltalake, pyiceberg, lance and DuckDB in the same run
	$(BIN)/python bench/run.py

stress: $(STAMP) ## full-size races and more than 20,000 simulated schedules (about an hour)
	$(TESTER) $(PYTEST) --ignore tests/spark -m stress --timeout 7200 -s

examples: $(STAMP) ## all tests again, property tests with ten times the examples
	EFFORT=10 $(TESTER) $(PYTEST) --ignore tests/spark -m 'not stress and not java' --timeout 3600

clean: ## remove .venv and caches
	rm -rf $(VENV) $(OLDEST) .pytest_cache .hypothesis .mypy_cache .ruff_cache .import_linter_cache .bench
