# make test   set up, lint, type-check, test
# make bench  measure speed and memory on the CPU, write docs/performance.md (several minutes)
# make demo   set up, train on Community-small, sample, evaluate (about 3 minutes on two CPU cores)
# make reproduce   set up, run every experiment of the paper and the denoiser at the quick scale

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed

.PHONY: test demo reproduce setup lint types unit bench clean

test: lint types unit

demo: setup
	$(BIN)/graphscore demo --out runs/demo

# Every experiment at the quick scale, one seed, into results/*_quick.json; continues where it was interrupted.
reproduce: setup
	$(BIN)/python -m reproduce all --scale quick --seeds 1

setup: $(INSTALLED)

# torch goes first and alone, at the pinned version, so that nothing else pulls in another build.
$(INSTALLED): pyproject.toml constraints.txt requirements-dev.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "graphscore needs Python 3.11 or newer; set PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt "$$(grep '^torch==' constraints.txt)"
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --requirement requirements-dev.txt --editable .
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

clean:
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache .hypothesis
