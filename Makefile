# Everything here sets itself up: Python 3.11 or newer and a C compiler are all a machine needs.
#   make PYTHON=python3.12 VENV=.venv-3.12 test      another Python, beside the first

PYTHON ?= python3
VENV ?= .venv
CHECKED ?= .venv-checked
CHECKED_CC ?= gcc
PYTEST_ARGS ?=
SPHINX_ARGS ?=

BIN := $(VENV)/bin
CHECKED_BIN := $(CHECKED)/bin
PACKAGING := setup.py pyproject.toml MANIFEST.in README.md SECURITY.md LICENSE
SOURCES := $(shell find src -type f \( -name '*.py' -o -name '*.py[ix]' -o -name '*.px[di]' \
             -o -name '*.h' -o -name py.typed \) -not -path '*.egg-info/*') $(PACKAGING)
# A plain build, whatever the environment holds: the checked build has its own target.
PLAIN := env -u FASTLIN_DEBUG -u FASTLIN_SANITIZE -u PYTHONPATH
PIP := -m pip --disable-pip-version-check --quiet
# python -c '$(EXTRA)' NAME ...: the requirements of extras; any other name: the package's own
EXTRA = import sys, tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
        print(*(r for n in sys.argv[1:] for r in p["optional-dependencies"].get(n, p["dependencies"])), sep="\n")

.DELETE_ON_ERROR:
.PHONY: help demo test test-peers lint docs docs-pages bench bench-quick test-checked check-targets package clean

help:
	@echo "make demo          train every learner on the docstrings of Python's standard library"
	@echo "make test          run the tests against the installed package"
	@echo "make test-peers    run scikit-learn's own tests of what fastlin has a twin of, on fastlin's"
	@echo "make lint          check style and types"
	@echo "make docs          build the site, with the gallery, into build/docs/html; warnings are errors"
	@echo "make docs-pages    the same without the gallery"
	@echo "make bench         compare with other libraries (FASTLIN_DATA: the folder of the corpora)"
	@echo "make bench-quick   the same in a few minutes; both write ratios to bench/results"
	@echo "make test-checked  run the tests on a build with bounds checks, ASAN and UBSAN"
	@echo "make check-targets compile every kernel for Linux (glibc, musl), macOS and Windows, x86-64 and ARM"
	@echo "make package       build the sdist and, from it, the wheel; import the wheel elsewhere"
	@echo "make clean         remove environments, builds and caches"

demo: $(VENV)/package.stamp
	@$(PLAIN) $(BIN)/python -m fastlin.demo

test: $(VENV)/package.stamp $(VENV)/test.stamp
	@# What measures seconds or bytes runs alone, the rest on all cores; 5: no test was chosen
	@$(PLAIN) $(BIN)/pytest -m timing tests $(PYTEST_ARGS) || [ $$? = 5 ]
	@$(PLAIN) $(BIN)/pytest -n auto --dist worksteal -m "not timing" --doctest-modules --pyargs fastlin tests $(PYTEST_ARGS)

test-peers: $(VENV)/package.stamp $(VENV)/test.stamp
	@$(PLAIN) $(BIN)/pytest -n auto --dist worksteal tests/peers $(PYTEST_ARGS)

lint: $(VENV)/lint.stamp
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@# cython-lint looks for pycodestyle on the PATH
	PATH="$(abspath $(BIN)):$$PATH" cython-lint src bench
	$(BIN)/mypy

docs: SPHINX_ARGS += -t gallery
docs docs-pages: $(VENV)/package.stamp $(VENV)/docs.stamp
	$(PLAIN) $(BIN)/python -m sphinx -W --keep-going -q -b html -d build/docs/$@ $(SPHINX_ARGS) docs build/docs/html
	@echo "the site is build/docs/html/index.html"

bench: $(VENV)/package.stamp $(VENV)/bench.stamp
	$(PLAIN) $(BIN)/python bench/limits.py
	$(PLAIN) $(BIN)/python bench/online.py
	$(PLAIN) $(BIN)/python bench/batch.py
	$(PLAIN) $(BIN)/python bench/text.py
	$(BIN)/python bench/report.py collect

bench-quick: $(VENV)/package.stamp $(VENV)/bench.stamp
	$(PLAIN) $(BIN)/python bench/online.py --quick --only newsgroups
	$(PLAIN) $(BIN)/python bench/text.py --quick --corpus 'movie reviews' --only 'words, names|hashed|transform|tf-idf'
	$(PLAIN) $(BIN)/python bench/small.py --repeat 3 --only 'predict|text'
	$(PLAIN) $(BIN)/python bench/svm.py --repeat 3 --only 'newsgroups -s 1'
	$(BIN)/python bench/report.py collect

# --- environments -------------------------------------------------------------------------------

define CHECK_PYTHON
import os, sys
if sys.version_info < (3, 11):
    sys.exit("fastlin needs Python 3.11 or newer, and %s is %d.%d. Name another: make PYTHON=python3.12 ..."
             % ((sys.executable,) + sys.version_info[:2]))
try:
    import ensurepip, venv
except ImportError:
    sys.exit("%s cannot make virtual environments: install its venv module (Debian: python3-venv)." % sys.executable)
import shlex, shutil, sysconfig
compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[0]
if not shutil.which(compiler):
    sys.exit("No C compiler: %s is not on the PATH. Install one, or name it: make CC=..." % compiler)
if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
    sys.exit("Python.h is missing: install the headers of %s (Debian: python3-dev)." % sys.executable)
endef
export CHECK_PYTHON

$(VENV)/venv.stamp $(CHECKED)/venv.stamp:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) not found. Name a Python 3.11 or newer: make PYTHON=..." >&2; exit 1; }
	@$(PYTHON) -c "$$CHECK_PYTHON"
	@echo "making $(@D)"
	@$(PYTHON) -m venv --clear $(@D)
	@touch $@

# The old build's Python files go first: a module that was removed must not live on in the package.
$(VENV)/package.stamp: $(SOURCES) | $(VENV)/venv.stamp
	@echo "building and installing fastlin (the kernels take a minute)"
	@[ ! -d build ] || find build -path '*/lib*' \( -name '*.py' -o -name '*.pyi' \) -delete
	@$(PLAIN) $(BIN)/python $(PIP) install --upgrade --force-reinstall --no-deps .
	@$(PLAIN) $(BIN)/python -c '$(EXTRA)' dependencies > $(VENV)/package.txt
	@$(BIN)/python $(PIP) install --requirement $(VENV)/package.txt
	@touch $@

$(VENV)/test.stamp $(VENV)/lint.stamp $(VENV)/docs.stamp $(VENV)/bench.stamp: $(VENV)/%.stamp: pyproject.toml | $(VENV)/venv.stamp
	@echo "installing what '$*' needs"
	@$(BIN)/python -c '$(EXTRA)' dependencies $* > $(VENV)/$*.txt
	@$(BIN)/python $(PIP) install --requirement $(VENV)/$*.txt
	@touch $@

# --- the checked build --------------------------------------------------------------------------
# Built from a copy, so that its C files and objects never mix with the plain ones. The sanitizers'
# libraries must come first in a Python that was built without them; libstdc++ comes with them
# because ASAN looks for its exceptions at start.

ASAN_LIBRARIES = $(foreach library,asan ubsan stdc++,$(shell $(CHECKED_CC) -print-file-name=lib$(library).so))
CHECKED_ENVIRONMENT = LD_PRELOAD="$(ASAN_LIBRARIES)" PYTHONMALLOC=malloc \
    ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:allocator_may_return_null=1 \
    UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1

$(CHECKED)/package.stamp: $(SOURCES) | $(CHECKED)/venv.stamp
	@echo "building and installing fastlin with every check on"
	@rm -rf $(CHECKED)/source
	@mkdir -p $(CHECKED)/source
	@cp -R src $(PACKAGING) $(CHECKED)/source
	@find $(CHECKED)/source/src \( -name '*.c' -o -name '*.cpp' -o -name '*.so' \) -delete
	@env -u PYTHONPATH CC=$(CHECKED_CC) FASTLIN_DEBUG=1 FASTLIN_SANITIZE=1 \
	    $(CHECKED_BIN)/python $(PIP) install --upgrade --force-reinstall --no-deps $(CHECKED)/source
	@$(CHECKED_BIN)/python -c '$(EXTRA)' dependencies test > $(CHECKED)/test.txt
	@$(CHECKED_BIN)/python $(PIP) install --requirement $(CHECKED)/test.txt
	@touch $@

test-checked: $(CHECKED)/package.stamp
	@env -u PYTHONPATH $(CHECKED_ENVIRONMENT) $(CHECKED_BIN)/python $(CHECKED_BIN)/pytest -m "not timing" $(PYTEST_ARGS) tests

# --- other systems ------------------------------------------------------------------------------
# Clang with the C libraries' headers that zig brings: nothing is linked, and nothing runs.

$(VENV)/targets.stamp: pyproject.toml | $(VENV)/venv.stamp
	@$(BIN)/python $(PIP) install "setuptools>=77" "Cython>=3.1" "ziglang>=0.13"
	@touch $@

check-targets: $(VENV)/targets.stamp
	@$(PLAIN) $(BIN)/python setup.py -q translate
	@$(BIN)/python .ci/cross_compile.py

# --- the package as others get it ---------------------------------------------------------------

package: $(VENV)/venv.stamp
	@$(BIN)/python $(PIP) install build
	@rm -rf dist
	@$(PLAIN) $(BIN)/python -m build --outdir dist .
	@rm -rf $(VENV)/elsewhere
	@$(PYTHON) -m venv $(VENV)/elsewhere
	@$(VENV)/elsewhere/bin/python $(PIP) install dist/*.whl
	@$(BIN)/python .ci/check_wheels.py dist/*.whl
	@cd $(VENV)/elsewhere && env -u PYTHONPATH bin/python -I $(abspath .ci/smoke.py)

clean:
	rm -rf .venv .venv-* $(VENV) $(CHECKED) build dist src/*.egg-info
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src -path '*/engine/*' \( -name '*.c' -o -name '*.so' \) -delete
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
