# Thin over tools/env.py, which keeps .venv as pyproject.toml and native/ want it and returns at once when it is.
PYTHON ?= python3
BIN := .venv/bin
# More than there are cores: parties wait for each other, and for deadlines, during half of their tests.
WORKERS ?= 3
# Neighbours stay together, so that a module's browser, lab or site is made once, and whoever is done helps the others.
SHARING := --dist worksteal
# `make LOCKED=--locked test` installs what requirements.lock has, by hash, or nothing.
LOCKED ?=
# What the tests exercise beside the plain installation.
EXTRAS := test export lab ray docs wheel
# Several test workers, each with a linear algebra library that takes both cores, get in each other's way tenfold.
export OPENBLAS_NUM_THREADS ?= 1

.PHONY: help demo picture test freeze soak fuzz check format docs reference wheel test-wheel sanitize clean

help:
	@echo "make demo         the main job on bundled data; writes demo/"
	@echo "make picture      the pictures of the demo's report and decision sheet"
	@echo "make test         the whole test suite"
	@echo "make freeze       write the messages and verdicts that a test compares with, after a change that was meant"
	@echo "make soak         tests that take long"
	@echo "make fuzz         any bytes, and any order of events: ten million inputs, five thousand sessions; needs clang"
	@echo "make check        format, lint and types"
	@echo "make format       reformat the code"
	@echo "make docs         the documentation as a site, strictly and offline; writes build/site/"
	@echo "make reference    write the pages and the notebook that are made from the code"
	@echo "make wheel        a wheel that needs no compiler, and an sdist; writes dist/ (PYTHONS=\"python3.12 python3.13\" for more)"
	@echo "make test-wheel   install that wheel into a bare environment and run the demo"
	@echo "make sanitize     the kernel under sanitizers, and its work with secrets under valgrind"
	@echo "make clean        remove what these commands made"

demo:
	@$(PYTHON) tools/env.py lab
	@$(BIN)/plumbob demo --out demo

picture: demo
	@$(PYTHON) tools/env.py test
	@$(BIN)/python tools/picture.py demo/report.html docs/pictures/report.png
	@$(BIN)/python tools/picture.py --printed demo/shares/summary.html docs/pictures/decision-sheet.png

test:
	@$(PYTHON) tools/env.py $(LOCKED) $(EXTRAS)
	@$(BIN)/python -m pytest -n $(WORKERS) $(SHARING)

freeze:
	@$(PYTHON) tools/env.py test
	@$(BIN)/python -m tests.frozen.files

soak:
	@$(PYTHON) tools/env.py $(LOCKED) $(EXTRAS)
	@$(BIN)/python -m pytest -n $(WORKERS) $(SHARING) -m soak

fuzz:
	@$(PYTHON) tools/env.py $(LOCKED) $(EXTRAS) fuzz
	@$(BIN)/python -m tests.fuzz.run

check:
	@$(PYTHON) tools/env.py $(LOCKED) $(EXTRAS) dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --strict

format:
	@$(PYTHON) tools/env.py $(LOCKED) $(EXTRAS) dev
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs:
	@$(PYTHON) tools/env.py docs
	@$(BIN)/python tools/site.py

reference:
	@$(PYTHON) tools/env.py test
	@$(BIN)/python tools/reference.py
	@$(BIN)/python tools/notebook.py

wheel:
	@$(PYTHON) tools/env.py wheel
	@$(BIN)/python tools/wheel.py $(PYTHONS)

test-wheel:
	@$(PYTHON) tools/env.py $(LOCKED) $(EXTRAS)
	@$(BIN)/python -m pytest -m wheel tests/test_wheel.py

sanitize:
	@$(PYTHON) tools/env.py test
	@bash tools/sanitize.sh

clean:
	rm -rf .venv .venv.lock build dist demo .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
