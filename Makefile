# Every target sets up its own virtual environment in .venv; nothing else on the machine is touched.
PYTHON ?= python3
BIN := .venv/bin
STAMPS := .venv/.stamps

.PHONY: demo test lint bench bench-quick clean

demo: $(STAMPS)/demo
	$(BIN)/csid demo

test: $(STAMPS)/test
	$(BIN)/python -m pytest -n auto

lint: $(STAMPS)/test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# rows that are already there are not made again; of tables alone, some hours on two cores
bench: $(STAMPS)/bench
	$(BIN)/python benchmarks/speed.py
	$(BIN)/python benchmarks/commands.py
	$(BIN)/python benchmarks/bias_start.py
	$(BIN)/python benchmarks/recovery.py
	$(BIN)/python benchmarks/defaults.py
	$(BIN)/python benchmarks/priors.py
	$(BIN)/python benchmarks/choices.py
	$(BIN)/python benchmarks/tables.py
	$(BIN)/python benchmarks/classes.py
	$(BIN)/python benchmarks/ablations.py
	$(BIN)/python benchmarks/treatments.py
	$(BIN)/python benchmarks/missing_cells.py
	$(BIN)/python benchmarks/whole_numbers.py
	$(BIN)/python benchmarks/sample_weights.py
	$(BIN)/python benchmarks/large_models.py predictors
	$(BIN)/python benchmarks/large_models.py categories
	$(BIN)/python benchmarks/few_rows.py
	$(BIN)/python benchmarks/irrelevant_predictors.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/roofline.py
	$(BIN)/python benchmarks/stochastic.py
	$(BIN)/python benchmarks/out_of_core.py
	$(BIN)/python benchmarks/cluster.py
	$(BIN)/python benchmarks/projection.py
	$(BIN)/python benchmarks/shapley.py
	$(BIN)/python benchmarks/report.py
	$(BIN)/python benchmarks/cost.py
	$(BIN)/python benchmarks/page.py

# a small part, some minutes; its rows and page are in benchmarks/quick
bench-quick: export CSID_BENCH_RESULTS = benchmarks/quick
bench-quick: $(STAMPS)/bench
	rm -rf benchmarks/quick && mkdir benchmarks/quick && cp benchmarks/results/tuning.csv benchmarks/quick
	$(BIN)/python benchmarks/tables.py --quick
	$(BIN)/python benchmarks/classes.py --quick
	$(BIN)/python benchmarks/page.py

clean:
	rm -rf .venv csid-demo

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit("csid needs Python 3.11 or newer: make PYTHON=python3.12 ...") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade pip

# one stamp per extra: installed again when pyproject.toml changes
$(STAMPS)/%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[$*]'
	mkdir -p $(STAMPS) && touch $@
