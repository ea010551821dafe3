# Streamward: every command of this repository. `make` prints them.

VENV := .venv
BIN := $(VENV)/bin
# The newest Python that we test on; any other from 3.11 on will do.
PYTHON := $(shell for python in python3.13 python3.12 python3.11 python3; do \
	$$python -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$python && break; done)
WORKERS ?= 2
PARALLEL := tests/unit tests/structure tests/conformance tests/service
# They mostly wait: two files at a time, however many processors there are.
PROCESSES := tests/simulation tests/system

.DEFAULT_GOAL := help
.PHONY: help up test test-fast check coverage-core format docs bench drills clean

help: ## print this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

up: $(VENV)/.run ## start a whole fleet: control plane, two runners, a batcher, a dozen simulated cameras (ARGS="--port 8090")
	$(BIN)/streamward up $(ARGS)

test: $(VENV)/.dev ## set up the test servers that this machine can have, then run every test
	@scripts/postgresql
	@scripts/rabbitmq
	@scripts/redis
	@scripts/media_servers
	@scripts/iproute2
	@scripts/prometheus
	@scripts/material
	$(BIN)/python -m pytest -n $(WORKERS) $(call present,$(PARALLEL))
	$(BIN)/python -m pytest -n 2 --dist loadfile $(call present,$(PROCESSES))

test-fast: $(VENV)/.dev ## unit, structure, conformance in memory and service tests: under 30 s
	$(BIN)/python -m pytest -n $(WORKERS) -k "not postgres and not sqlite and not rabbitmq and not redis" $(call present,$(PARALLEL))

check: $(VENV)/.dev ## format, lint, types, imports, core coverage, generated docs
	$(BIN)/ruff format --check --quiet .
	$(BIN)/ruff check --quiet .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	@$(MAKE) --no-print-directory coverage-core
	$(BIN)/python scripts/generate_docs.py --check

coverage-core: $(VENV)/.dev ## prove that each core module is covered by its own tests alone
	$(BIN)/python scripts/core_coverage.py

format: $(VENV)/.dev ## format the code, and mend what the linter can
	$(BIN)/ruff check --quiet --fix .
	$(BIN)/ruff format --quiet .

docs: $(VENV)/.dev ## write the pages that are generated from the code
	$(BIN)/python scripts/generate_docs.py

bench: $(VENV)/.bench ## measure, as ratios within one run
	@scripts/postgresql
	@scripts/rabbitmq
	@scripts/redis
	$(BIN)/python -m bench

drills: $(VENV)/.dev ## every drill at full size, hours of it, and one table (ONLY="cut steady" for some; docs/drills.md)
	@scripts/postgresql
	@scripts/rabbitmq
	@scripts/iproute2
	$(BIN)/python -m scripts.drills $(ONLY)

clean: ## remove everything that was built or installed here
	rm -rf $(VENV) build dist data .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Directories that exist and have tests: a category without any is no error.
present = $(foreach dir,$(1),$(if $(wildcard $(dir)/test_*.py $(dir)/*/test_*.py),$(dir)))

$(VENV)/bin/python:
	@$(if $(PYTHON),,echo "Streamward needs Python 3.11 or later, and none was found on PATH" >&2; exit 1)
	$(PYTHON) -m venv $(VENV)

# Stamps: an installation is repeated only when pyproject.toml changed.
$(VENV)/.run: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[control,vision]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[control,vision,litert,onnx,openvino,dev]'
	@touch $@ $(VENV)/.run

$(VENV)/.bench: pyproject.toml | $(VENV)/.dev
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[control,vision,litert,onnx,openvino,dev,bench]'
	@touch $@
