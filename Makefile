# Two commands on a fresh Linux machine with Python 3.11+: `make demo` and `make test`.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
# The networks are tiny: one thread per test process is faster than two fighting over them.
export OMP_NUM_THREADS ?= 1

.PHONY: help install demo test test-full audit lint tables readme docs clean

help:
	@echo "make demo       set up .venv, train four networks on bundled data, write a report"
	@echo "make test       set up .venv, lint, type-check, check the rooms, run the tests"
	@echo "make test-full  the same, the long tests, and an audit of the dependencies"
	@echo "make tables     regenerate the tables in docs/ from the code"
	@echo "make readme     regenerate the picture and the tables of README.md"
	@echo "make docs       build the documentation with its gallery into docs/_build/html"

# Rebuilt whenever the declared dependencies change; --system-site-packages is never used.
$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "spdnorm needs Python 3.11 or newer; set PYTHON=...")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[all,dev]'
	touch $@

install: $(VENV)/.installed

demo: install
	$(BIN)/spdnorm reproduce demo --results runs/demo

lint: install
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

test: lint
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-full: lint audit
	$(BIN)/python -m pytest -n 2

audit: install
	$(BIN)/python scripts/audit.py

tables: install
	$(BIN)/python scripts/make_tables.py

readme: install
	$(BIN)/python scripts/make_readme.py

docs: install
	$(BIN)/python -m sphinx -W --keep-going -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

clean:
	rm -rf docs/_build docs/api docs/auto_examples docs/changelog.md docs/sg_execution_times.rst
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis
