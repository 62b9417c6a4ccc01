# Every target sets up what it needs, once: a .venv of its own, and a Java when the machine has none.
.DEFAULT_GOAL := help
.PHONY: help demo demo-model quick test lint audit bench-audit bench-automl bench-checks bench-dirty bench-engine bench-fuzz bench-hostile bench-kills bench-load bench-planners bench-speed doctor release-check clean

BIN := .venv/bin
SETUP := pyproject.toml benchmarks/pyproject.toml constraints.txt scripts/setup.sh
export PYTHON

help: ## What there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-14s %s\n", $$1, $$2 }' Makefile

demo: .venv/.spark ## From a specification to a verified pull request, on the example repository
	@scripts/demo.sh

demo-model: .venv/.automl ## From a sentence and a file to a verified model behind an endpoint
	@scripts/demo_model.sh

quick: .venv/.dev ## The tests that a change affects, the nearest first, for at most SECONDS=80
	@$(BIN)/python scripts/quick.py $(SECONDS)

test: .venv/.dev ## All tests, on up to four processors; a file stays on one
	@$(BIN)/pytest -n logical --maxprocesses 4 --dist loadfile --no-loadscope-reorder

lint: .venv/.dev ## Rules, types, import directions and sizes
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-logo
	@$(BIN)/python tests/test_style.py

audit: .venv/.dev ## Known weaknesses of what is installed, pins, base packages, code of others in our process
	@$(BIN)/pytest tests/test_supply.py tests/test_untrusted.py
	@scripts/audit.sh

bench-checks: .venv/.dev ## Seeded bugs: how many the checks catch
	@$(BIN)/python -m palmette_bench checks

bench-dirty: .venv/.dev ## Kinds of dirty data through the AutoML environment
	@$(BIN)/python -m palmette_bench dirty

bench-engine: .venv/.dev ## Overhead of the engine per step
	@$(BIN)/python -m palmette_bench engine

bench-audit: .venv/.dev ## FeatBench's own answers, held to their second definition
	@$(BIN)/python -m palmette_bench audit

bench-planners: .venv/.dev ## Planner-guided, sequential and random runs under the same mistakes; QUICK=1 for two tasks
	@$(BIN)/python -m palmette_bench features $(if $(QUICK),--quick) --out build/featbench
	@$(if $(QUICK),,$(BIN)/python -m palmette_bench features --stand-ins --sensitivity --out build/featbench)

bench-speed: .venv/.dev ## Generated features beside the gold ones, in turns; ROWS=1e6,1e7,5e7 MINUTES=300 for large tables
	@$(BIN)/python -m palmette_bench speed --rows $(or $(ROWS),1e6) --minutes $(or $(MINUTES),60)

bench-hostile: .venv/.dev ## Hostile programs in the sandbox, at each level of isolation, and what a run costs
	@$(BIN)/python -m palmette_bench hostile

bench-kills: .venv/.dev ## kill -9 before and after every event, and at random; KILLS="toys=300 automl=60 features=30"
	@$(BIN)/python examples/offers/prepare.py
	@$(BIN)/python -m palmette_bench kills $(or $(KILLS),toys=300 automl=60 features=30)

bench-load: .venv/.dev ## 200 runs in one process, 20 beside each other, a long journal, 10,000 elements
	@$(BIN)/python -m palmette_bench load

bench-fuzz: .venv/.dev ## Every reader on hostile and random input; EXAMPLES=2000 of each property
	@PALMETTE_FUZZ=$(or $(EXAMPLES),2000) $(BIN)/pytest tests/fuzz --timeout 0

bench-automl: .venv/.dev ## The studies of AutoML-Agent and iML: DATA=folder of sets STUDIES="agent iml peers" QUICK=1
	@test -n "$(DATA)" || { echo 'make bench-automl DATA=/path/to/sets; docs/reference/automl-bench.md describes them'; exit 2; }
	@$(BIN)/python -m palmette_bench automl $(STUDIES) --data $(DATA) $(if $(QUICK),--quick)

doctor: .venv/.spark ## What is installed, what is missing, how to get it
	@$(BIN)/palmette doctor --spark

release-check: ## Build the wheel, install it in a new environment, run both demos from it
	@scripts/release_check.sh

clean: ## Remove what make made
	rm -rf .venv .pytest_cache .ruff_cache .mypy_cache .hypothesis .import_linter_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/.spark: $(SETUP)
	@scripts/setup.sh spark
	@touch $@

.venv/.automl: $(SETUP)
	@scripts/setup.sh automl
	@touch $@

.venv/.dev: $(SETUP)
	@scripts/setup.sh dev
	@echo "Preparing Spark, which then starts in half the time (once, half a minute)"
	@$(BIN)/palmette doctor --spark > .venv/doctor.txt || cat .venv/doctor.txt
	@touch $@ .venv/.spark .venv/.automl
