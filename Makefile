# The project's words. `make` alone lists them.
SHELL := /bin/sh
PYTHON ?=
export PYTHON
BIN := .venv/bin
SETUP := sh packaging/setup.sh

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-fast proofs lint check format lock bench pictures clean

help: ## list these words
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## make .venv with everything that development needs
	@$(SETUP) dev

demo: ## the whole way on three tasks, then the window (DATA=folder, FRESH=1)
	@$(SETUP) run
	@$(BIN)/python packaging/demo.py $(if $(DATA),--data "$(DATA)") $(if $(FRESH),--fresh)

test: ## the whole test suite (ARGS=… for pytest)
	@$(SETUP) dev
	@QT_QPA_PLATFORM=offscreen $(BIN)/python -m pytest -n 2 --dist worksteal $(ARGS)

test-fast: ## the inner loop: no slow tests, no journeys, each edge case once (ARGS=… for pytest)
	@$(SETUP) dev
	@QT_QPA_PLATFORM=offscreen M4REVIEW_TEST_QUICK=1 $(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow and not gui and not sandbox" $(ARGS)

proofs: ## the long proofs whole: every planted error, a thousand traced cells of every target
	@$(SETUP) dev
	@QT_QPA_PLATFORM=offscreen M4REVIEW_TEST_PROOFS=all $(BIN)/python -m pytest -n 2 --dist worksteal tests/engine/diagnosis tests/engine/claims $(ARGS)

lint: ## ruff, mypy (strict), import contracts, the layout of SQL
	@$(SETUP) dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/sqlfluff lint -q engine/concepts/sql engine/references/targets engine/references/audit

check: lint test ## what CI does

format: ## let ruff put the code in shape
	@$(SETUP) dev
	$(BIN)/ruff check --fix
	$(BIN)/ruff format

lock: ## pin anew: requirements.lock, requirements-dev.lock
	@$(SETUP) dev
	@sh packaging/lock.sh

bench: ## benchmarks: ours against the plain way, in one run
	@$(SETUP) dev
	@for each in benchmarks/*.py; do $(BIN)/python "$$each" || exit; done

pictures: ## every screen of the error analysis as PNG, in every setting (OUT=folder, ARGS=… scenes)
	@$(SETUP) dev
	@PYTHONPATH=tests $(BIN)/python -m pictures --out "$(or $(OUT),out/pictures)" $(ARGS)

clean: ## remove what was built (not .demo, not .venv)
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -not -path './.venv/*' -prune -exec rm -rf {} +
