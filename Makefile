# make demo | test | torture | lint | settings | docs | bench | clean; the first run makes .venv and installs everything into it.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install --disable-pip-version-check -qq -c constraints.txt

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test torture lint settings docs bench clean

help:
	@echo "make demo      train a translator of dates in two minutes, and look inside"
	@echo "make test      run all tests; TESTS=tests/laws runs some"
	@echo "make torture   every law in every model; then break it on purpose: crashes, full disks, forgeries, a soak (an hour)"
	@echo "make lint      check style and types"
	@echo "make settings  write docs/settings.md, the reference of all settings"
	@echo "make docs      build the documentation site into build/site"
	@echo "make bench     measure it beside its peers"
	@echo "make clean     remove everything that make has made"

demo: $(VENV)/.dev
	$(BIN)/regard demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n auto -q $(TESTS)

torture: $(VENV)/.dev
	REGARD_TORTURE=1 $(BIN)/python -m pytest -n auto -q tests/laws
	REGARD_TORTURE=1 $(BIN)/python -m pytest -q -s tests/faults

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

settings: $(VENV)/.dev
	$(BIN)/regard settings --markdown > docs/settings.md

docs: $(VENV)/.docs settings
	$(BIN)/python -m sphinx -q -E -a -W --keep-going -c docs -d build/doctrees . build/site
	@echo "The site begins at build/site/index.html"

bench: $(VENV)/.bench
	$(BIN)/python benchmarks/attention.py --json benchmarks/results/attention.json
	$(BIN)/python benchmarks/train.py --json benchmarks/results/train.json
	$(BIN)/python benchmarks/translate.py --json benchmarks/results/translate.json
	$(BIN)/python benchmarks/alignment_cost.py .bench/runs/multi30k-800 ../shared/data/multi30k/test_2016_flickr.lc.norm.tok.en.gz

clean:
	rm -rf $(VENV) build dist docs/api *.egg-info .bench .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# A stamp is touched last, so an installation that was interrupted starts again.
$(VENV)/.dev: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || \
		{ echo "Regard needs Python 3.11 or newer, but '$(PYTHON)' is $$($(PYTHON) -V 2>&1 | head -n 1); try: make PYTHON=python3.11" >&2; exit 1; }
	@rm -f $(VENV)/.dev $(VENV)/.bench $(VENV)/.docs
	@echo "Installing into $(VENV) (a few minutes the first time) …"
	$(PYTHON) -m venv $(VENV)
	$(INSTALL) -e ".[dev]"
	@touch $@

$(VENV)/.bench: $(VENV)/.dev
	$(INSTALL) -e ".[dev,bench]"
	@touch $@

$(VENV)/.docs: $(VENV)/.dev
	$(INSTALL) -e ".[dev,docs]"
	@touch $@
