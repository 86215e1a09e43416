# Every target does its own set-up: Python 3.11 or newer and make are enough.

EXTRAS_demo = plots,explore
EXTRAS_docs = plots,dask,docs
EXTRAS_test = plots,arrays,explore,notebook,test,lint
EXTRAS_arrays = arrays,onnx,tables,dask
# Optional libraries without which many tests would be skipped; Dask without its data frames, which need pyarrow.
LIBRARIES_test = 'dask[array]>=2024.8' 'distributed>=2024.8' array-api-strict
# The large ones, for `make test-arrays`.
LIBRARIES_arrays = torch==2.13.0 'polars>=1.0' onnxruntime jax
TESTS_arrays = tests/test_array_api.py tests/test_onnx.py tests/test_tables.py tests/test_dask.py

# The first Python that is new enough; `make PYTHON=/path/to/python` overrides it.
NEW_ENOUGH = import sys; sys.exit(sys.version_info < (3, 11))
PYTHON ?= $(shell for p in python3 python python3.14 python3.13 python3.12 python3.11; do \
	$$p -c '$(NEW_ENOUGH)' 2>/dev/null && echo $$p && break; done)

# A virtual environment holds absolute paths, so one that was copied or moved is made anew.
HERE := $(shell pwd | cksum | cut -d' ' -f1)
SOURCES = pyproject.toml setup.py $(wildcard src/mercer/_core/_native.c)
BIN = .venv/bin
# Modules are compiled when they are first imported: those of a test environment would take 200 MB, most of them unused.
PIP = $(BIN)/python -m pip install -qq --disable-pip-version-check --no-compile
# So they must be stored then, also where the shell says not to: an import takes three times as long without.
export PYTHONDONTWRITEBYTECODE =
SAY_IF_NO_C = ls src/mercer/_core/_native*.so >/dev/null 2>&1 || \
	echo 'The C extension was not built (is there a compiler?): mercer works in NumPy, more slowly'
# Workers share the cores: a BLAS with threads of its own in each would wait for itself.
test test-arrays test-ray test-spark test-oldest test-newest: export OPENBLAS_NUM_THREADS = 1
test test-arrays test-ray test-spark test-oldest test-newest: export OMP_NUM_THREADS = 1
PYTEST = -m pytest -n auto --maxprocesses 4 --dist worksteal

.PHONY: help demo explore docs test test-arrays test-ray test-spark test-oldest test-newest mutants fuzz lint bench bench-full bench-peers \
	bench-history bench-compare test-native-asan clean \
	wheel wheels sizes sbom compatibility release-check
.NOTPARALLEL:

help:
	@echo 'make demo         the whole story in one HTML page (DATA=my.csv: of your own table)'
	@echo 'make explore      look at built-in digits in the browser (DATA=my.csv: at your own table)'
	@echo 'make test         lint, types and the whole test suite'
	@echo 'make test-arrays  the tests that need torch, JAX, Polars, pyarrow or onnxruntime (1.3 GB more)'
	@echo 'make test-ray     fits in Ray tasks and by Dask on Ray (installs Ray)'
	@echo 'make test-spark   fits of the partitions of a Spark frame (installs pyspark; needs Java)'
	@echo 'make test-oldest  the test suite on the oldest supported dependencies'
	@echo 'make test-newest  the test suite on pre-releases of the dependencies'
	@echo 'make fuzz         random hostile input for MINUTES=5; the counts go into docs/security.md'
	@echo 'make test-native-asan  the C extension under AddressSanitizer and UndefinedBehaviorSanitizer'
	@echo 'make mutants      wrong versions of the core, each of which the tests must find'
	@echo 'make docs         the documentation, every example run'
	@echo 'make lint         ruff and mypy only'
	@echo 'make bench        quick benchmarks (bench-full: all of them)'
	@echo 'make bench-compare  ten benchmarks in three minutes, beside a stored run'
	@echo 'make bench-history  a few benchmarks, import time and sizes, appended to benchmarks/history.csv and plotted'
	@echo 'make bench-peers  the monitor beside the detectors of PyOD (needs MERCER_DATA)'
	@echo 'make wheel        wheel and source distribution, checked and tested with every Python found'
	@echo 'make release-check  everything that must hold before a release'
	@echo 'make clean        remove everything that make made'

demo: .venv/.demo-$(HERE)
	@$(BIN)/mercer demo $(if $(DATA),--data '$(DATA)')

explore: .venv/.demo-$(HERE)
	@$(BIN)/mercer explore $(if $(DATA),'$(DATA)')

test: lint
	@echo '--- pytest'
	@$(BIN)/python $(PYTEST)

test-ray: .venv/.arrays-$(HERE)
	@$(PIP) 'ray>=2.40'
	@$(BIN)/python examples/clusters/ray_merge.py

# Spark's workers must run the Python of the environment.
test-spark: .venv/.arrays-$(HERE)
	@$(PIP) 'pyspark>=4.0'
	@PYSPARK_PYTHON=$(CURDIR)/$(BIN)/python $(BIN)/python examples/clusters/spark_merge.py

test-arrays: .venv/.arrays-$(HERE)
	@echo '--- pytest with torch, JAX, Polars, pyarrow and onnxruntime'
	@$(BIN)/python $(PYTEST) $(TESTS_arrays)

lint: .venv/.test-$(HERE)
	@echo '--- ruff'
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@echo '--- mypy'
	@$(BIN)/mypy

test-oldest: .venv-oldest/.ready-$(HERE)
	@echo '--- pytest on the oldest supported dependencies'
	@.venv-oldest/bin/python $(PYTEST)

test-newest: .venv-newest/.ready-$(HERE)
	@echo '--- pytest on pre-releases of the dependencies'
	@.venv-newest/bin/python $(PYTEST)

mutants: .venv/.test-$(HERE)
	@PYTHONPATH=tests $(BIN)/python -m mutants.run

MINUTES ?= 5
fuzz: .venv/.test-$(HERE)
	@PYTHONPATH=tests $(BIN)/python -m fuzz.run --minutes $(MINUTES) --write $(TARGETS)

# A copy of the package, so that the extension in use stays; leaks are Python's own.
ASAN = build/asan
ASAN_FLAGS = -shared -fPIC -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
ASAN_RUN = LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=$(ASAN)/src:tests $(BIN)/python
test-native-asan: .venv/.test-$(HERE)
	@rm -rf $(ASAN) && mkdir -p $(ASAN) && cp -r src $(ASAN)/ && rm -f $(ASAN)/src/mercer/_core/_native*.so
	@gcc $(ASAN_FLAGS) -I"$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("include"))')" \
		-DPy_LIMITED_API=0x030B0000 src/mercer/_core/_native.c -o $(ASAN)/src/mercer/_core/_native.abi3.so -lm
	@$(ASAN_RUN) -m pytest -q -p no:cacheprovider tests/test_native.py
	@$(ASAN_RUN) -m fuzz.run native --cases 20000 --minutes 5

# Pages of names that are no longer listed would stay and be warned of.
docs: .venv/.docs-$(HERE)
	@rm -rf docs/generated
	@$(BIN)/python -m sphinx -q -W --keep-going -b html docs docs/_build/html
	@echo 'The site: docs/_build/html/index.html'

bench: .venv/.test-$(HERE)
	@$(BIN)/python benchmarks/run.py

bench-full: .venv/.test-$(HERE)
	@$(BIN)/python benchmarks/run.py --full

# Ten cases in three minutes, beside those of benchmarks/compare.json (STORE=1 replaces them).
bench-compare: .venv/.test-$(HERE)
	@$(BIN)/python benchmarks/compare.py $(if $(STORE),--store)

# A few numbers of this commit, added to those of earlier ones.
bench-history: .venv/.test-$(HERE)
	@$(BIN)/python benchmarks/history.py

# PyOD and what it needs stay out of the environment of the tests.
bench-peers: .venv-peers/.ready-$(HERE)
	@.venv-peers/bin/python benchmarks/monitor_te.py
	@.venv-peers/bin/python benchmarks/anomalies.py

wheel: .venv/.release-$(HERE)
	@$(BIN)/python tools/wheel.py

# Model files of this version, which later versions must be able to read.
compatibility: .venv/.test-$(HERE)
	@$(BIN)/python tests/data/make_models.py

# Wheels for all platforms of this system; on Linux it needs Docker.
wheels: .venv/.release-$(HERE)
	@$(BIN)/python -m cibuildwheel --output-dir dist

# The table of docs/install.md: what an installation takes.
sizes: .venv/.test-$(HERE)
	@$(BIN)/python tools/sizes.py

# What mercer needs at run time, as CycloneDX: from an environment that holds nothing else.
sbom: .venv/.release-$(HERE)
	@$(BIN)/python tools/sbom.py

release-check: .venv/.release-$(HERE)
	@$(BIN)/python tools/release_check.py

clean:
	rm -rf .venv .venv-oldest .venv-newest .venv-peers build dist docs/_build docs/gallery docs/generated src/*.egg-info src/mercer/_core/_native*.so mercer-demo
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests benchmarks examples docs -name __pycache__ -type d -prune -exec rm -rf {} +

# One stamp says that the environment was made here, one more that it holds what the target needs.

.venv/.test-$(HERE): $(SOURCES) | .venv/.made-$(HERE)
	@echo 'Installing mercer with its test tools into .venv (a minute or two, once)'
	@$(PIP) -e '.[$(EXTRAS_test)]' $(LIBRARIES_test)
	@$(SAY_IF_NO_C)
	@touch .venv/.demo-$(HERE) $@

.venv/.arrays-$(HERE): .venv/.test-$(HERE)
	@echo 'Installing torch, JAX, Polars, pyarrow and onnxruntime into .venv (a minute or two, once)'
	@$(PIP) -e '.[$(EXTRAS_arrays)]' $(LIBRARIES_arrays)
	@touch $@

.venv/.release-$(HERE): .venv/.test-$(HERE)
	@echo 'Installing the tools of a release into .venv (once)'
	@$(PIP) -e '.[release]'
	@touch $@

.venv/.demo-$(HERE): $(SOURCES) | .venv/.made-$(HERE)
	@echo 'Installing mercer with matplotlib into .venv (a minute, once)'
	@$(PIP) -e '.[$(EXTRAS_demo)]'
	@$(SAY_IF_NO_C)
	@touch $@

.venv/.docs-$(HERE): $(SOURCES) | .venv/.made-$(HERE)
	@echo 'Installing mercer with its documentation tools into .venv (a minute or two, once)'
	@$(PIP) -e '.[$(EXTRAS_docs)]'
	@touch $@

# The oldest versions are the lower bounds of pyproject.toml: "numpy>=1.26" becomes "numpy==1.26.*".
# pytest is among them because the checks of an old scikit-learn call it in ways that a later one warns of.
OLDEST = import re, tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	extras = project["optional-dependencies"]; \
	bounds = project["dependencies"] + extras["plots"] + [b for b in extras["test"] if b.startswith("pytest>")]; \
	print(*[re.sub(r">=(\d+(\.\d+)?).*", r"==\1.*", bound) for bound in bounds], sep="\n")

.venv-oldest/.ready-$(HERE): $(SOURCES) | .venv-oldest/.made-$(HERE)
	@.venv-oldest/bin/python -c '$(OLDEST)' > .venv-oldest/constraints.txt
	@echo 'Installing mercer into .venv-oldest with' $$(cat .venv-oldest/constraints.txt)
	@.venv-oldest/bin/python -m pip install -qq --disable-pip-version-check --only-binary numpy,scipy,scikit-learn \
		-c .venv-oldest/constraints.txt -e '.[plots,test]'
	@touch $@

.venv-newest/.ready-$(HERE): $(SOURCES) | .venv-newest/.made-$(HERE)
	@echo 'Installing mercer into .venv-newest with pre-releases'
	@.venv-newest/bin/python -m pip install -qq --disable-pip-version-check --pre -U -e '.[plots,test]'
	@touch $@

.venv-peers/.ready-$(HERE): $(SOURCES) | .venv-peers/.made-$(HERE)
	@echo 'Installing mercer and PyOD into .venv-peers (a minute or two, once)'
	@.venv-peers/bin/python -m pip install -qq --disable-pip-version-check -e . pyod
	@touch $@

.venv/.made-$(HERE) .venv-peers/.made-$(HERE) .venv-oldest/.made-$(HERE) .venv-newest/.made-$(HERE):
	@"$(PYTHON)" -c '$(NEW_ENOUGH)' 2>/dev/null || { \
		echo 'mercer needs Python 3.11 or newer; name one with: make PYTHON=/path/to/python' >&2; exit 1; }
	@"$(PYTHON)" -c 'import venv, ensurepip' 2>/dev/null || { \
		echo 'This Python has no venv module; on Debian or Ubuntu: apt install python3-venv' >&2; exit 1; }
	@echo "Creating $(@D) with $$("$(PYTHON)" --version)"
	@"$(PYTHON)" -m venv --clear $(@D)
	@touch $@
