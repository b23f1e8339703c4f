# `make help` lists what can be made. Everything happens in .venv; nothing else is touched.

PYTHON ?= python3.11
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help demo test cover soak check lint types imports format bench lock clean

help: ## List what can be made
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(READY): requirements.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: $(READY) ## Compact sample sessions, and show before and after
	$(BIN)/compactor demo

test: $(READY) ## Run all tests, with bounded sizes
	$(BIN)/python -m pytest -m "not soak" -n auto $(ARGS)

cover: $(READY) ## Run the same tests, and print what they cover; it takes half as long again
	$(BIN)/python -m pytest -m "not soak" -n auto --cov --cov-report=term:skip-covered $(ARGS)

soak: $(READY) ## Run the full figures: long interleavings, kills, fuzzing
	$(BIN)/python -m pytest -m soak --timeout=3000 $(ARGS)

check: lint types imports ## Lint, types, import contracts

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(READY)
	$(BIN)/mypy

imports: $(READY)
	$(BIN)/lint-imports

format: $(READY) ## Format the code
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(READY) ## Measure scanning, committing and asking, as ratios against a bare baseline
	$(BIN)/python bench/run.py $(ARGS)

lock: $(READY) ## Make requirements.lock anew from pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv export --quiet --format requirements-txt --no-emit-project --all-groups --all-extras \
		--no-header -o requirements.lock
	rm -f uv.lock

clean: ## Remove .venv and all that tools leave behind
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage
