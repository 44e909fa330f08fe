# Everything runs in .venv; `make demo` and `make test` need only Python >= 3.11 and make.
PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

# As many workers as cores, so one thread each: linear algebra on more threads than cores mostly waits.
PYTEST := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest --numprocesses auto --dist loadfile

.PHONY: dev demo test coverage coverage-solvers test-loops fuzz test-slow test-mutation test-oldest test-dist test-browser test-recipes lint lint-pages bench docs dist release-check constraints experiments clean

# All that a contributor needs: tests, documentation, browser, checks of the pages' JavaScript, hooks of git.
dev: $(READY)
	$(BIN)/python tools/install.py docs browser hooks
	$(MAKE) --silent $(PAGES)/node_modules/.ready || echo "dev: without npm's packages, make lint-pages is skipped"
	$(CHROMIUM)
	$(BIN)/pre-commit install

demo: $(READY)
	$(BIN)/python -m widegap demo

test: lint
	$(PYTEST)

# Which lines no test runs; it takes a third longer than the tests alone.
coverage: $(READY)
	$(PYTEST) --cov --cov-report=term

test-slow: $(READY)
	$(BIN)/python -m pytest -m slow

# Branches of the packages that decide labels, and of model files, that their tests take: 95% of each. Coverage cannot see
# compiled loops, so they run once more as plain Python, and LLVM vectors are only seen while they are compiled.
LOOPS := $(addprefix tests/forest/test_,agreement.py communities.py linkage.py single_moves.py) \
	$(addprefix tests/features/test_,kernels.py kmeans.py neighbours.py) \
	tests/constraints/test_transport.py tests/rows/test_passes.py
OF_SOLVERS := $(addprefix tests/,base constraints cutting_plane features forest persistence rows sdp)
OF_BOTH := $(addprefix --cov=widegap.,constraints cutting_plane features forest persistence rows) --cov-append --cov-report=
coverage-solvers: $(READY)
	rm -rf .coverage build/coverage-loops
	NUMBA_CACHE_DIR=$(CURDIR)/build/coverage-loops $(BIN)/python -m pytest -q $(OF_SOLVERS) $(OF_BOTH)
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q $(LOOPS) $(OF_BOTH)
	$(BIN)/python -m coverage json -q -o build/coverage.json
	$(BIN)/python tests/branches.py build/coverage.json

# Compiled loops do not fault beyond the end of an array. So their tests run with every index checked, from an empty
# folder for machine code; then as plain Python, where NumPy checks all indices, those of LLVM vectors in their place too.
CHECKED := $(addprefix tests/robustness/test_,fuzz.py fuzz_entries.py any_order.py any_order_of_documents.py \
	any_order_of_commands.py) tests/rows tests/features tests/forest tests/constraints
test-loops: $(READY)
	rm -rf build/checked-loops
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/build/checked-loops $(PYTEST) $(CHECKED)
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q $(LOOPS)
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -q -m slow -k larger tests/robustness/test_fuzz.py

# Inputs that grow the coverage of a reader, made by atheris, which has a place of its own: make fuzz READER=csv RUNS=1000000.
READER ?= all
RUNS ?= 10000
fuzz: $(READY)
	test -d build/fuzz/atheris || $(BIN)/python -m pip install --quiet --no-deps --target build/fuzz atheris
	PYTHONPATH=build/fuzz:tests NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$(CURDIR)/build/checked-loops \
		$(BIN)/python tests/fuzz/run.py "$(READER)" -runs=$(RUNS)

# 120 small changes of the core, drawn by the last commit, and whether the tests notice them; an hour.
test-mutation: $(READY)
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python tests/mutants.py

# The lowest versions that pyproject.toml allows, of every extra and of the tests' own packages, in a place of their own.
OLDEST := .venv-oldest/bin
OLDEST_TESTS ?= tests
test-oldest:
	test -x $(OLDEST)/python || $(PYTHON) -m venv .venv-oldest
	$(OLDEST)/python -m pip install --quiet uv
	$(OLDEST)/uv pip install --quiet --python $(OLDEST)/python --resolution lowest-direct --editable '.[all]' --group dev
	OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(OLDEST)/python -m pytest --numprocesses auto --dist loadfile $(OLDEST_TESTS)

# Chromium and its driver are Debian's packages: installed where that is possible, and the tests are skipped elsewhere.
CHROMIUM := command -v chromedriver >/dev/null || { apt-get update -qq && apt-get install -y -qq chromium chromium-driver; } || true
test-browser: $(READY)
	$(CHROMIUM)
	$(BIN)/python tools/install.py browser
	$(BIN)/python -m pytest tests/browser

# The recipes of the documentation, with the packages that they name: a few gigabytes, since BERTopic brings torch.
test-recipes: $(READY)
	$(BIN)/python -m pip install --quiet --group recipes
	$(BIN)/python -m pytest -n 0 tests/recipes

lint: $(READY) lint-pages
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy
	$(BIN)/mypy tests/conformance/typing_example.py

# eslint and tsc on the pages' JavaScript. Whoever has no node, or no way to get the packages, gets one line instead.
PAGES := tools/pages
lint-pages:
	@if ! command -v npm >/dev/null; then echo "lint-pages: skipped, npm is not installed"; \
	elif ! $(MAKE) --silent $(PAGES)/node_modules/.ready; then echo "lint-pages: skipped, npm cannot fetch the packages"; \
	else npm --prefix $(PAGES) run --silent lint; fi

$(PAGES)/node_modules/.ready: $(PAGES)/package-lock.json
	@npm --prefix $(PAGES) ci --silent --no-audit --no-fund --fetch-retries=0 --fetch-timeout=20000 >/dev/null 2>&1
	@touch $@

# The packages to compare with are for reading: those that cannot be installed are left out.
bench: $(READY)
	$(BIN)/python -m pip install --quiet --group bench || true
	$(BIN)/python -m benchmarks

# The site, in build/docs: runs the examples, checks links between pages and every example in a docstring.
docs: $(READY)
	$(BIN)/python tools/install.py docs
	MPLBACKEND=agg $(BIN)/python -m sphinx --fail-on-warning --keep-going -b html docs build/docs
	MPLBACKEND=agg $(BIN)/python -m sphinx --fail-on-warning -D plot_gallery=0 -b doctest docs build/doctest

# Wheel and source distribution; the same commit gives the same bytes. Results of other code are refused.
dist: $(READY)
	$(BIN)/python -m experiments check
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct) $(BIN)/python -m build --outdir dist .

# What stands against a release of this version: an address that is a placeholder, a changelog without its section.
release-check: $(READY)
	$(BIN)/python -m tools.release_check $(TAG)

# Both, installed in empty places: the README's commands, what is said where an extra is missing, the tests inside.
test-dist: $(READY)
	$(BIN)/python -m pytest -m slow tests/conformance/test_distribution.py

# Resumable, four to five hours of CPU time in all: cells that experiments/results.jsonl has from the same code are kept.
experiments: $(READY)
	$(BIN)/python -m experiments run

# Versions and hashes for make, of all files for all platforms. Versions that still fit are kept: UPGRADE=--upgrade
# takes the newest ones.
constraints: $(READY)
	$(BIN)/python -m pip install --quiet uv
	$(BIN)/uv pip compile --quiet $(UPGRADE) --universal --python-version 3.11 --generate-hashes \
		--group dev --group docs --group browser --group hooks pyproject.toml \
		--custom-compile-command "make constraints" --output-file constraints.txt

$(READY): pyproject.toml constraints.txt tools/install.py
	$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(0 if v >= (3, 11) else f"widegap needs Python >= 3.11, this is {v[0]}.{v[1]}: call make PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python tools/install.py
	touch $(READY)

clean:
	rm -rf .venv .venv-oldest .pytest_cache .mypy_cache .ruff_cache .coverage .hypothesis build dist
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +
