# The only ways people and CI start anything.
PYTHON ?= python3
BIN := .venv/bin
SYSTEM := $(if $(filter 0,$(shell id -u)),,sudo)
# Each command and server that a test starts would compile every module anew.
export PYTHONDONTWRITEBYTECODE :=
# Thousands of small databases: on a disk each waits for it.
IN_MEMORY := $(shell [ "$$(df -k --output=avail /dev/shm 2>/dev/null | tail -1)" -gt 8000000 ] 2>/dev/null && echo TMPDIR=/dev/shm)

.PHONY: run test check bench soak mutants browser balancer latex

run: .installed-app
	$(BIN)/python app.py

# Three at a time for two cores: tests wait for a part of their time (for a pace, a page, a lock).
test: .installed-dev browser
	$(IN_MEMORY) $(BIN)/python -m pytest -m "not soak" -n 3 --dist loadfile

check: .installed-dev
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright

bench: .installed-dev
	$(BIN)/python -m perf

soak: .installed-dev browser balancer latex
	$(IN_MEMORY) $(BIN)/python -m pytest -m "soak or hypothesis" --hypothesis-profile=soak --timeout=1800 -n 2 --dist worksteal

# Small changes to MODULES (files or folders), to see which ones no test notices.
# make mutants MODULES="arena/ratings/shares.py scoring/judges" N=40 SEED=1 TESTS=tests/arena/ratings/test_shares.py
MODULES ?= arena/ratings scoring/report.py
N ?= 40
SEED ?= 1
mutants: .installed-dev
	$(IN_MEMORY) $(BIN)/python -m tests.support.mutants $(MODULES) -n $(N) --seed $(SEED) $(if $(TESTS),--tests $(TESTS))

$(BIN)/python:
	$(PYTHON) -m venv .venv

.installed-app: requirements.txt | $(BIN)/python
	$(BIN)/pip install -q -r requirements.txt
	touch $@

.installed-dev: requirements.txt requirements-dev.txt | $(BIN)/python
	$(BIN)/pip install -q -r requirements-dev.txt
	touch .installed-app $@

# Debian's Chromium without windows, which spares a fifth of the work, with an emoji and a CJK font.
browser:
	@[ -n "$$CHROMIUM" ] || command -v chromium-headless-shell >/dev/null || { \
	  command -v apt-get >/dev/null && $(SYSTEM) apt-get update -qq && \
	  $(SYSTEM) apt-get install -y -qq --no-install-recommends chromium-headless-shell fonts-noto-color-emoji fonts-noto-cjk >/dev/null; } || \
	  command -v chromium >/dev/null || echo "No chromium: install one and set CHROMIUM=/path/to/it"

# nginx, for the tests of several servers; they are skipped where it is not.
balancer:
	@[ -x /usr/sbin/nginx ] || command -v nginx >/dev/null || { command -v apt-get >/dev/null && $(SYSTEM) apt-get update -qq && \
	  $(SYSTEM) apt-get install -y -qq --no-install-recommends nginx-light >/dev/null; } || echo "No nginx: install it"

# LaTeX, for the test that reports' tables compile; it is skipped where it is not.
latex:
	@command -v pdflatex >/dev/null || { command -v apt-get >/dev/null && $(SYSTEM) apt-get update -qq && \
	  $(SYSTEM) apt-get install -y -qq --no-install-recommends texlive-latex-recommended >/dev/null; } || echo "No pdflatex: install it"
