# Every target does its own set-up on a machine with Python 3.11 or 3.12 and make; the second run has nothing to set up.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# Compiled modules are kept: many a test starts processes that would compile everything anew.
unexport PYTHONDONTWRITEBYTECODE

UV_VERSION := 0.13.9
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

## demo: sync the sample tenant, answer its questions as several people, show every citation
.PHONY: demo
demo: $(READY)
	$(BIN)/footnote demo

# One process more than there are cores: tests often wait for a server.
WORKERS := $$(( $$(getconf _NPROCESSORS_ONLN) + 1 ))

## test: run the whole test suite
.PHONY: test
test: $(READY)
	$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder

## lint: check style, formatting and types
.PHONY: lint
lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

## bench: measure searches, whole asks and cold starts; prints tables (takes a while)
.PHONY: bench
bench: $(READY)
	$(BIN)/python -m tests.bench.search
	$(BIN)/python -m tests.bench.gate
	$(BIN)/python -m tests.bench.ledger
	$(BIN)/python -m tests.bench.ask
	$(BIN)/python -m tests.bench.commands

## docs: write docs/settings.md and docs/commands.md from the code
.PHONY: docs
docs: $(READY)
	$(BIN)/python -m bot.documenting

## services: install every server that tests can run against and that pip does not bring
.PHONY: services
services: $(READY)
	$(BIN)/python -m scripts.openid install
	$(BIN)/python -m scripts.weaviate install

## weaviate: install and start a Weaviate on this machine; prints the settings that use it
.PHONY: weaviate
weaviate: $(BIN)/python
	@$(BIN)/python -m scripts.weaviate start

## weaviate-cluster: the same with three nodes
.PHONY: weaviate-cluster
weaviate-cluster: $(BIN)/python
	@$(BIN)/python -m scripts.weaviate cluster

## weaviate-stop: stop what those two started; the data stays
.PHONY: weaviate-stop
weaviate-stop: $(BIN)/python
	@$(BIN)/python -m scripts.weaviate stop

## manifest: write the Slack manifests, for HTTP and for Socket Mode, from scripts/manifest.py
.PHONY: manifest
manifest: $(READY)
	$(BIN)/python -m scripts.manifest $(if $(HOST),--host $(HOST))

## setup: only create .venv and install what the rest needs
.PHONY: setup
setup: $(READY)
	@$(BIN)/python -m scripts.openid provider || echo "the OpenID provider of the tests is not to be had; going on without" >&2

## clean: remove .venv and caches, never the data directory
.PHONY: clean
clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis build dist *.egg-info

## help: show this list
.PHONY: help
help:
	@sed -n 's/^## /  make /p' $(firstword $(MAKEFILE_LIST))

# Any interpreter that answers 3.11 or 3.12; a version manager's stand-in may exist and not run.
$(BIN)/python:
	@for python in $(PYTHON) python3.11 python3.12 python3; do \
	  if "$$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 13))' 2>/dev/null; then \
	    echo "Creating $(VENV) with $$("$$python" --version)"; \
	    "$$python" -m venv $(VENV) && exit 0; \
	    echo "$$python can't make a virtual environment; install its venv package (python3-venv)" >&2; exit 1; \
	  fi; \
	done; echo "Python 3.11 or 3.12 is needed; install it or run make PYTHON=/path/to/python" >&2; exit 1

# Hashes are checked either way; uv only saves minutes. The project itself is linked, not copied.
$(READY): $(BIN)/python requirements.lock pyproject.toml
	@echo "Installing what requirements.lock names (once)"
	@if $(BIN)/python -m pip install -q --disable-pip-version-check uv==$(UV_VERSION); then \
	  VIRTUAL_ENV=$(VENV) $(BIN)/uv pip install -q --require-hashes -r requirements.lock; \
	else \
	  echo "uv is not to be had; installing with pip, which takes longer" >&2; \
	  $(BIN)/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements.lock; \
	fi
	@$(BIN)/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation \
	  --config-settings editable_mode=compat -e .
	@touch $@
