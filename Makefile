# Everything that is done with this repository; `make help` lists it.
# PYTHON chooses the interpreter of .venv; ARGS is passed on by the targets that say so.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet

# Most tests wait for processes, syncs and sockets, so three at a time fit on two cores.
SIDE_BY_SIDE := --numprocesses 3 --dist loadfile

export PYTHONUTF8 := 1

.DEFAULT_GOAL := help
.PHONY: help serve install dev install-dev lint format check test soak bench dist docs lock clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

serve: $(VENV)/.installed ## Start a broker on 127.0.0.1:9092 (ARGS="--set node.id=2"); Ctrl-C ends it
	@exec $(BIN)/inkless serve $(ARGS)

install: $(VENV)/.installed ## Install what a broker needs into .venv

dev install-dev: $(VENV)/.installed-dev

dev: ## Install what the tests and checks need as well (also: install-dev)

lint: $(VENV)/.installed-dev ## Format, lint, types and the direction of imports
	$(BIN)/ruff format --check
	$(BIN)/ruff check
	$(BIN)/mypy
	$(BIN)/lint-imports

format: $(VENV)/.installed-dev ## Format the code and fix what the linter can fix
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

check: lint ## The checks before a commit: lint and the quick tests (ARGS goes to pytest)
	$(BIN)/pytest $(SIDE_BY_SIDE) -m "not slow and not soak" $(ARGS)

test: lint ## All checks and tests but the soak; skipped ones are listed with the reason (ARGS goes to pytest)
	$(BIN)/pytest $(SIDE_BY_SIDE) -m "not soak" $(ARGS)

soak: $(VENV)/.installed-dev ## The long tests in full: 20 rounds, 100,000 records (ARGS goes to pytest)
	INKLESS_ROUNDS=$${INKLESS_ROUNDS:-20} INKLESS_RECORDS=$${INKLESS_RECORDS:-100000} \
	$(BIN)/pytest -m "slow or soak" -o timeout=3600 $(ARGS)

bench: $(VENV)/.installed-dev ## Measure, and print ratios (ARGS goes to the benchmark)
	$(BIN)/python -m bench $(ARGS)

dist: $(VENV)/.installed ## Build the wheel and the source archive into dist/
	$(BIN)/hatchling build

docs: $(VENV)/.installed ## Write the generated pages of docs/
	$(BIN)/python -m inkless.settings > docs/configs.md.new
	mv docs/configs.md.new docs/configs.md

COMPILE = uv pip compile pyproject.toml --generate-hashes --universal --python-version 3.11 \
	--no-header --no-emit-index-url --no-emit-find-links --quiet

lock: ## Renew the lock files (needs uv; ARGS="--upgrade" takes newer releases)
	@command -v uv > /dev/null || { echo "make lock needs uv: https://docs.astral.sh/uv/"; exit 1; }
	$(COMPILE) --group build -o requirements.lock $(ARGS)
	$(COMPILE) --group dev -o requirements-dev.lock $(ARGS)

clean: ## Remove what was built, and caches; .venv and inkless-data stay
	rm -rf dist build .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +

# The lock files hold every hash, so nothing is installed that was not looked at when they were made.
$(VENV)/.installed: requirements.lock pyproject.toml
	@PYTHON="$(PYTHON)" scripts/make-venv $(VENV)
	@echo "Installing into $(VENV) (once) ..."
	@$(PIP) --require-hashes -r requirements.lock
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.installed-dev: requirements-dev.lock pyproject.toml
	@PYTHON="$(PYTHON)" scripts/make-venv $(VENV)
	@echo "Installing into $(VENV), with what the tests need (once) ..."
	@$(PIP) --require-hashes -r requirements-dev.lock
	@$(PIP) --no-deps --no-build-isolation -e .
	@touch $@
