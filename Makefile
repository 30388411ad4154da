# The front door. Meson does the building (meson.build); tools/setup gets what the machine lacks.
# `make help` lists what can be made.

# The build tools are the private environment's; a program to profile is run by the user's own Python.
TOOLS  := PATH="$(CURDIR)/.venv/bin:$$PATH"
PREFIX ?= /usr/local
SCRIPT ?= examples/shallow_water.py
ARGS   ?=
SANITIZE := -Db_sanitize=address,undefined -Db_lundef=false -Dc_args=-fno-sanitize-recover=all -Dbuildtype=debugoptimized
SONDE  := build/python/sonde/_bin/sonde

.PHONY: all demo test lint bench scale soak asan fuzz wheel install clean help
.SUFFIXES:

all: build/build.ninja ## build the program and the Python package in build/python
	@$(TOOLS) ninja -C build --quiet

# Order-only: the environment's time stamps must not configure the build again.
build/build.ninja: | .venv/build.ok
	@$(TOOLS) meson setup build >build.log 2>&1 || { cat build.log; exit 1; }; rm -f build.log

build-asan/build.ninja: | .venv/test.ok
	@$(TOOLS) meson setup build-asan $(SANITIZE) -Dtests=enabled

build-fuzz/build.ninja: | .venv/fuzz.ok
	@CC=clang-14 $(TOOLS) meson setup build-fuzz -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false \
	    -Dbuildtype=debugoptimized

.venv/%.ok: tools/setup web/package-lock.json
	@tools/setup $*

demo: all .venv/demo.ok ## profile an example, draw its call graph and make a page of it (SCRIPT=yours.py ARGS=...)
	@tools/demo $(SONDE) $(SCRIPT) $(ARGS)

test: all .venv/test.ok ## everything that must hold: layers, lint, unit, golden, fuzz corpus, every Python
	@tools/test

lint: all .venv/test.ok ## formatting, compiler warnings, ruff, the layer rules
	@tools/test layers lint

bench: all .venv/test.ok ## speed against other profilers and viewers
	@.venv/bin/python bench/run.py
	@.venv/bin/python bench/lines.py
	@.venv/bin/python bench/mem.py
	@.venv/bin/python bench/mem_lines.py
	@.venv/bin/python bench/sampling.py
	@.venv/bin/python bench/together.py
	@.venv/bin/python bench/regions.py
	@.venv/bin/python bench/mpi.py
	@.venv/bin/python bench/live.py
	@$(TOOLS) .venv/bin/python bench/page.py

scale: all .venv/test.ok ## runs of up to 4096 ranks: merging, alone and by several processes of MPI, looking, packing
	@.venv/bin/python bench/scale.py

soak: all .venv/test.ok ## nothing grows while a program is sampled for long (MINUTES=30)
	@.venv/bin/python bench/soak.py $(or $(MINUTES),30)

asan: .venv/test.ok ## the tools, readers and analyses under ASan and UBSan
	@tools/test sanitized

fuzz: build-fuzz/build.ninja ## look for inputs that break the readers (SECONDS=60 each)
	@$(TOOLS) ninja -C build-fuzz --quiet
	@tests/fuzz/search build-fuzz $(or $(SECONDS),60)

wheel: .venv/build.ok ## a self-contained wheel in dist/
	@tools/wheel

install: all ## install below PREFIX (default /usr/local)
	@$(TOOLS) meson configure build --prefix=$(abspath $(PREFIX))
	@$(TOOLS) meson install -C build --quiet
	@echo "installed: $(abspath $(PREFIX))/bin/sonde"

clean: ## remove everything built
	rm -rf build build-* demo dist

help: ## this list
	@sed -n 's/^\([a-z]*\):[^#]*## /  make \1	/p' Makefile | expand -t 18
