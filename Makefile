# What there is to do here. `make` alone lists it.

PYTHON := .venv/bin/python
ROUNDS ?= 5
COMPILE := $(PYTHON) -m uv pip compile --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --no-annotate --custom-compile-command "make lock" --quiet
FAULTS ?= 1000
SEED ?=

.DEFAULT_GOAL := help
.PHONY: help environment test test-deep test-agents test-faults test-python bench lock format lint wheel vendor screenshots docs

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

environment: ## .venv, from the locks, with what the checks and tests need
	@./test --prepare

test: ## every check and every case once
	@./test

test-deep: ## the long and the random cases, ROUNDS times (5), each round with another seed
	@for round in $$(seq $(ROUNDS)); do \
		seed=$$(od -An -N4 -tu4 /dev/urandom | tr -d ' '); \
		echo "round $$round, seed $$seed"; \
		LAMPLIGHTER_TEST_SEED=$$seed ./test -m "deep or hypothesis" -n 2 --dist worksteal --hypothesis-seed=$$seed || exit 1; \
	done

test-agents: ## the cases that need real agent programs; with ROUNDS=20 each of their endings that often
	@LAMPLIGHTER_AGENT_ROUNDS=$(if $(filter file,$(origin ROUNDS)),1,$(ROUNDS)) ./test -m agents

test-python: ## the engine's cases on the newest Python and tmux, in a tree of Debian's next release
	@./test --tree

test-faults: environment ## attack a whole Lamplighter with FAULTS faults (1000) of SEED, and judge it from outside
	@$(PYTHON) -m faults --faults $(FAULTS) $(if $(SEED),--seed $(SEED))

bench: environment ## measure side by side with tmux and the MCP SDK, and print the table
	@$(PYTHON) -m bench

lock: environment ## make run.lock, dev.lock and docs.lock in requirements/ again from pyproject.toml
	@$(COMPILE) pyproject.toml --extra build --extra dev --output-file requirements/dev.lock
	@$(COMPILE) pyproject.toml --extra build --constraint requirements/dev.lock --output-file requirements/run.lock
	@$(COMPILE) --group docs --output-file requirements/docs.lock

format: environment ## put the code in shape
	@$(PYTHON) -m scripts.checks --write

lint: environment ## linters, types and layers, without the tests
	@$(PYTHON) -m scripts.checks

wheel: environment ## dist/*.whl
	@$(PYTHON) -m hatchling build -t wheel

vendor: environment ## make the page's libraries again from scripts/vendor
	@$(PYTHON) -m scripts.vendoring

screenshots: environment ## the page's main views, into docs/images
	@$(PYTHON) -m scripts.screenshots

docs: environment ## the documentation site, in build/docs
	@$(PYTHON) -m scripts.docs.build
