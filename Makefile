# make test   set up, lint, type-check, test; a short fuzz and mutants
# make bench  measure speed and memory on the CPU, write docs/performance.md (several minutes)
# make demo   set up, train on Community-small, sample, evaluate (about 3 minutes on two CPU cores)
# make reproduce   set up, run every experiment of the paper and the denoiser at the quick scale
# make fuzz, mutants, bombs, kills, faults, strangers   one campaign; longer: SECONDS=600, NUMBER=300
# make reliability   all campaigns at full length (hours), write docs/reliability.md
# make lock, licences, release   pin dependencies anew; check their licences; build the files of a release

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
INSTALL = $(BIN)/python -m pip install --quiet --only-binary :all:

SECONDS ?= 20
NUMBER ?= 12
# The share of mutants that may survive.
ALLOWED ?= 0.04
CAMPAIGNS := bombs faults fuzz kills mutants strangers
OPTIONS_fuzz = --seconds $(SECONDS)
OPTIONS_mutants = --number $(NUMBER) --allowed $(ALLOWED)

.PHONY: test demo reproduce setup lint types unit bench clean reliability lock licences release $(CAMPAIGNS)

# The few mutants of a test may survive: each is a gap in the tests that is shown.
test: ALLOWED := 1
test: lint types unit fuzz mutants

demo: setup
	$(BIN)/graphscore demo --out runs/demo

# Every experiment at the quick scale, one seed, into results/*_quick.json; continues where it was interrupted.
reproduce: setup
	$(BIN)/python -m reproduce all --scale quick --seeds 1

setup: $(INSTALLED)

# Everything is a wheel with a hash from requirements.lock, torch excepted: its builds differ, so it is pinned
# by version and may bring the CUDA libraries of its build along.
$(INSTALLED): pyproject.toml requirements.lock requirements-torch.txt
	$(PYTHON) -c 'import sys; sys.exit(None if (3, 11) <= sys.version_info[:2] <= (3, 13) else "requirements.lock has wheels for Python 3.11 to 3.13; set PYTHON=python3.13")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(INSTALL) --no-deps --require-hashes --requirement requirements.lock
	$(INSTALL) --requirement requirements-torch.txt
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation --editable .
	touch $@

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: setup
	$(BIN)/mypy

unit: setup
	# One thread each: two processes with two threads would fight over two cores.
	OMP_NUM_THREADS=1 $(BIN)/pytest --quiet --numprocesses 2

bench: setup
	$(BIN)/python -m benchmarks denoiser --device cpu --json results/benchmark_denoiser_cpu.json
	$(BIN)/python -m benchmarks edp-gnn --device cpu --json results/performance_cpu.json
	$(BIN)/python -m benchmarks released --json results/benchmark_network.json
	$(BIN)/python -m benchmarks metrics --json results/benchmark_metrics.json
	$(BIN)/python -m benchmarks page

$(CAMPAIGNS): setup
	OMP_NUM_THREADS=1 $(BIN)/python -m campaigns $@ $(OPTIONS_$@) $(if $(RECORD),--json results/campaign_$@.json)

# Each campaign at full length, with its record, although one before it failed; then the page.
reliability: setup
	$(MAKE) --keep-going RECORD=1 SECONDS=3600 NUMBER=300 $(CAMPAIGNS); \
	status=$$?; $(BIN)/python -m campaigns page && exit $$status

lock:
	$(PYTHON) scripts/lock.py

licences: setup
	$(BIN)/python -m scripts.licences

release: setup
	$(BIN)/python -m scripts.release

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
