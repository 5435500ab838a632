# Every target first says what it does and how long that takes. Times are those of two cores and, for the first run of a
# target, of a connection that brings 350 MB in half a minute.

# The interpreter to use, a folder of .venv: `default` is the newest Blender that this machine's own Python can run.
ENVIRONMENT ?= default
# Starts a Blender with a window when a script's path is added to it.
BLENDER ?= blender --factory-startup --python

# What random use draws from, and how long it goes on: the files, so that each change tries others and can be repeated.
SEED ?= $(shell git rev-parse HEAD^{tree})
SECONDS ?= 90
# What of it fails: all, or with --lenient what can be nothing but Supple's fault; the rest is to be looked into.
RANDOM_OPTIONS ?=

# --untagged tries a release before its commit has the tag.
RELEASE_OPTIONS ?=

# How many tests run at a time, each in a process of its own.
WORKERS ?= 2

BLENDERS := 4.2 4.5 5.0 5.2
OLDER := 4.2 4.5 5.0
# Folders of tests/unit where another NumPy can make a difference: 1.24 comes with Blender 4.2, 1.26 with 4.5 and 5.0.
NUMERIC := algebra anatomy automatic_weights corrections engine_copy geometry measures motion particles patterns posing \
  rig skinning weight_editing
# Windows keeps programs of an environment elsewhere, and its Python has another name; make runs there from Git's shell.
ifeq ($(OS),Windows_NT)
  BIN := Scripts
  SYSTEM_PYTHON ?= python
else
  BIN := bin
  SYSTEM_PYTHON ?= python3
endif
PYTHON := .venv/$(ENVIRONMENT)/$(BIN)/python
LINT := .venv/lint/$(BIN)/python -m
PYTEST := -m pytest -c tests/pytest.ini --rootdir tests
# Tests start a hundred Blenders, each of which would compile all modules anew.
unexport PYTHONDONTWRITEBYTECODE
# A module's tests run in one process, so its fixtures are made once; modules go by their names, and the last are short.
# NumPy and OpenMP keep to one thread each: two workers of two threads on two cores spend half as much again on waiting.
ONE_THREAD := OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
# A Blender that crashes is a test that failed; a worker in its place would begin its file anew, and can hang.
IN_PARALLEL := -n $(WORKERS) --dist loadfile --no-loadscope-reorder --max-worker-restart 0
BUILDER = $(PYTHON) tools/builder.py

say = @sed -n 's/^$@:.*\#\# */== $@: /p' Makefile
prepare = @$(SYSTEM_PYTHON) tools/environments.py

.PHONY: help setup setup-all demo test test-unit test-blender test-all test-numeric test-versions test-faults test-files test-engine-copy test-farm test-random test-gui lint types workflows package test-package release site bench blind \
  bench-particles bench-patterns bench-weights bench-endurance animations clean
.DEFAULT_GOAL := help

help: ## This list
	@awk -F ':.*## *' '/^[a-z-]*:.*## / { printf "%-17s%s\n", $$1, $$2 }' Makefile

setup: ## Install one Blender as a Python module, and the tools for lint and types (40 seconds, once)
	$(say)
	$(prepare) default lint

setup-all: ## Install all four Blenders and the tools; needs Python 3.11 and 3.13 (3 minutes, once)
	$(say)
	$(prepare) all

demo: ## Run the demonstration and say where its pictures are (1 minute)
	$(say)
	$(prepare) $(ENVIRONMENT)
	$(PYTHON) -m demo.run

test: ## Run the tests that need no window, on one Blender (15 minutes)
	$(say)
	$(prepare) $(ENVIRONMENT)
	$(ONE_THREAD) $(PYTHON) $(PYTEST) tests/unit $(IN_PARALLEL)
	$(ONE_THREAD) $(PYTHON) $(PYTEST) tests/blender $(IN_PARALLEL)

test-unit: ## Run only the tests that need no Blender (1 minute)
	$(say)
	$(prepare) $(ENVIRONMENT)
	$(ONE_THREAD) $(PYTHON) $(PYTEST) tests/unit $(IN_PARALLEL)

test-numeric: ## Run the unit tests of numeric modules, for another NumPy: make test-numeric ENVIRONMENT=bpy-4.2 (1 minute)
	$(say)
	$(prepare) $(ENVIRONMENT)
	$(ONE_THREAD) $(PYTHON) $(PYTEST) $(NUMERIC:%=tests/unit/%) $(IN_PARALLEL)

test-blender: ## Run only the tests that need a Blender but no window (12 minutes)
	$(say)
	$(prepare) $(ENVIRONMENT)
	$(ONE_THREAD) $(PYTHON) $(PYTEST) tests/blender $(IN_PARALLEL)

test-all: ## Run `test` on each Blender from 4.2 LTS to 5.2 LTS, for a release; needs Python 3.11 and 3.13 (40 minutes)
	$(say)
	$(prepare) $(BLENDERS:%=bpy-%)
	@failed=; for blender in $(BLENDERS); do echo "-- Blender $$blender"; \
	  $(MAKE) --no-print-directory test ENVIRONMENT=bpy-$$blender || failed="$$failed $$blender"; \
	done; test -z "$$failed" || { echo "failed on Blender$$failed"; exit 1; }

test-versions: ## Run on Blender 4.2, 4.5 and 5.0 what a version can make differ; needs Python 3.11 (4 minutes)
	$(say)
	$(prepare) $(OLDER:%=bpy-%)
	@failed=; for blender in $(OLDER); do echo "-- Blender $$blender"; \
	  $(ONE_THREAD) .venv/bpy-$$blender/$(BIN)/python $(PYTEST) tests/blender -m versions $(IN_PARALLEL) || failed="$$failed $$blender"; \
	done; test -z "$$failed" || { echo "failed on Blender$$failed"; exit 1; }

test-files: ## Fill disks at 20 points of each write, and kill 100 processes that write (10 minutes)
	$(say)
	$(prepare) $(ENVIRONMENT)
	$(PYTHON) $(PYTEST) tests/blender/test_full_disk.py tests/blender/test_kills.py --thorough -s

test-faults: ## Plant a hundred faults, one at a time, and see whether a test finds each; needs Python 3.13 (1 hour)
	$(say)
	$(prepare) bpy-4.2 bpy-4.5 bpy-5.0 bpy-5.2
	.venv/bpy-5.2/$(BIN)/python tests/faults/run.py record
	.venv/bpy-5.2/$(BIN)/python tests/faults/run.py plant

test-engine-copy: ## Compare engine copies with Dem Bones, and their USD files as Pixar's library reads them; needs Python 3.11 (1 minute)
	$(say)
	$(prepare) engine-copy $(ENVIRONMENT)
	$(ONE_THREAD) .venv/engine-copy/$(BIN)/python $(PYTEST) tests/unit/engine_copy/test_against_dem_bones.py -s
	$(ONE_THREAD) $(PYTHON) $(PYTEST) tests/blender/test_engine_copy_parts.py

test-farm: ## Run the jobs that `supple farm` writes by the engines of farms (1 minute)
	$(say)
	$(prepare) farm $(ENVIRONMENT)
	$(ONE_THREAD) $(PYTHON) $(PYTEST) tests/farm -n $(WORKERS)

test-random: ## Use Supple at random beside Blender's own modifier: make test-random SEED=7 SECONDS=600 (2 minutes)
	$(say)
	$(prepare) $(ENVIRONMENT)
	$(PYTHON) tests/random/run.py --found
	$(PYTHON) tests/random/run.py --seed "$(SEED)" --seconds $(SECONDS) $(RANDOM_OPTIONS)

test-gui: ## Run the tests in a Blender with a window: make test-gui BLENDER="/path/to/blender --python" (4 minutes)
	$(say)
	@mkdir -p dist
	$(BLENDER) tests/gui/run.py $(if $(WINDOW_LANGUAGE),-- $(WINDOW_LANGUAGE)) > dist/test-gui.log 2>&1; code=$$?; cat dist/test-gui.log; exit $$code
	@grep -Eq '^[0-9]+ passed, 0 failed' dist/test-gui.log || \
	  { echo "The script did not end with 'N passed, 0 failed'; Blender's exit code is 0 even then."; exit 1; }

lint: ## Check style, formatting and the rules of tools/house_rules (5 seconds)
	$(say)
	$(prepare) lint
	$(LINT) ruff check .
	$(LINT) ruff format --check .
	.venv/lint/$(BIN)/python tools/check_house_rules.py

types: ## Check types (30 seconds)
	$(say)
	$(prepare) lint
	$(LINT) basedpyright

workflows: ## Check the workflow that GitHub runs (2 seconds)
	$(say)
	$(prepare) site
	.venv/site/$(BIN)/python -m check_jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml

package: ## Build the extension's zip into dist/ and validate it (5 seconds)
	$(say)
	$(prepare) $(ENVIRONMENT)
	@mkdir -p dist && rm -f dist/supple-*.zip
	$(BUILDER) build --source-dir . --output-dir dist
	$(BUILDER) validate dist/supple-*.zip

test-package: ## Build the zip, check it by the rules of the platform, install, use, disable and update it (1 minute)
	$(say)
	$(prepare) $(ENVIRONMENT)
	$(PYTHON) $(PYTEST) tests/package

release: ## Make a release in dist/release: zip, repository, digests, notes: make release RELEASE_OPTIONS=--untagged (10 seconds)
	$(say)
	$(prepare) $(ENVIRONMENT)
	$(PYTHON) tools/release.py $(RELEASE_OPTIONS)

site: ## Make the site of this version in build/site, and check its links and pictures (10 seconds)
	$(say)
	$(prepare) site
	.venv/site/$(BIN)/python tools/make_site.py

bench: ## Measure speed beside Blender's own Armature modifier, of whole characters and of a tube (6 minutes)
	$(say)
	$(prepare) $(ENVIRONMENT)
	$(PYTHON) benchmarks/whole_characters.py
	$(PYTHON) benchmarks/run.py

bench-particles: ## Measure what particles keep of a body, beside the other methods (2 minutes; longer where real characters are at hand)
	$(say)
	$(prepare) $(ENVIRONMENT)
	$(PYTHON) benchmarks/particles.py

bench-patterns: ## Measure what skin patterns cost, drawn by Python and live, beside Blender's own Armature modifier (1 minute)
	$(say)
	$(prepare) $(ENVIRONMENT)
	$(PYTHON) benchmarks/patterns.py

bench-weights: ## Measure automatic weights beside Blender's own and those of artists, on real characters (6 minutes)
	$(say)
	$(prepare) $(ENVIRONMENT)
	$(PYTHON) benchmarks/weights.py
	$(PYTHON) benchmarks/weight_transfer.py

bench-endurance: ## Play 20,000 frames by each method: memory and steps at the start and at the end (10 minutes)
	$(say)
	$(prepare) $(ENVIRONMENT)
	$(ONE_THREAD) $(PYTHON) benchmarks/endurance.py

blind: ## Draw sheets of 73 poses by five methods without their names, to be ranked by eye: build/blind (10 minutes)
	$(say)
	$(prepare) $(ENVIRONMENT)
	$(PYTHON) benchmarks/blind.py --output build/blind --samples 8

animations: ## Make the five animations of the README, docs/images/animated-*.webp (5 minutes)
	$(say)
	$(prepare) $(ENVIRONMENT)
	$(PYTHON) benchmarks/animations.py

clean: ## Remove the environments, the built zip and Python's caches (at once)
	$(say)
	rm -rf .venv dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
