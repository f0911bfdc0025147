# make run         a running service, from nothing: `make run ARGS="--port 9000"`
# make test        lint and all tests, on SQLite and PostgreSQL; one directory or file: `make test FILE=tests/web`
# make test-fresh  the quick start of the README and `make test`, in a new Debian 12 without what this machine has; as root
# make test-slow   kill loops, drains, journeys, property tests, pages and scans of QR codes in full, a million visits
# make test-nodes  three nodes, PostgreSQL and ClickHouse in network namespaces, with faults: `make test-nodes MINUTES=30`
# make image       the container image localhost/waypost:latest; `make image BASE_IMAGE=… PLATFORMS=…`
# make test-image  builds the image on Debian 13 and tests containers of it; as root
# make test-compiled  the tests that send requests to redirects, with redirects compiled by mypyc (ADR 1)
# make test-packages  wheels, source distribution and Debian package, built, installed and used in new Debians; as root
# make lint        ruff, mypy and the import contracts
# make dist        distributions of Waypost and its clients, bill of materials, checksums: same commit, same bytes
# make bench       benchmarks; prints one table and writes docs/design/benchmarks.md
# make attack      attacks a started service, measures what others notice
# make attack-compiled  the same with compiled redirects, as installed; writes the table in docs/design/security.md
# make docs        builds the documentation into site/ and checks its links
# make client      makes the types of the clients and the methods of that for Python again, after a change of the API
# make stores      writes the files for app stores in deploy/stores again
# make diagrams    draws the diagrams of the documentation again, after a change of docs/diagrams/*.dot
# make pictures    takes the pictures of README and documentation again, with the data of `waypost demo`
# make geo         rebuilds the bundled country data from Debian's tor-geoipdb
# make bots        refreshes the copied lists of bots and prints what changed
# make models      makes the table of device models again, and counts how many devices are recognized
# make browser-extension  builds the extension for the stores of Chrome, Edge and Firefox
# make n8n-node    builds the package for n8n, checks it by n8n's own rules, and tests it with n8n's package
# make clean       removes what the others made, but never the data
SHELL := /bin/bash
UV_VERSION := 0.13.8
SYNC := UV_PYTHON_DOWNLOADS=never .venv/bin/uv sync --quiet --frozen --inexact --compile-bytecode
SOURCES := src tests bench clients docs_site compile_redirects.py hatch_build.py

# Otherwise every process compiles all modules again, which is half of the time that it takes to start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run test test-fresh test-slow compiled test-compiled test-nodes image test-image test-packages lint dist bench attack attack-compiled docs client stores diagrams pictures geo bots models n8n-node browser-extension clean

run: .venv/.installed-run
	@exec .venv/bin/waypost serve $(ARGS)

# FILE: the tests of a directory or file, without lint. loadfile: tests of a file share a service.
# Not reordered: files with few tests are the slow ones, and would run last.
# Three processes on two cores, because a third of the time tests wait for processes, timers and the disk.
FILE ?=
# Only in test-slow: the first waits for events to be sent in batches, and tests/browser/test_pixels.py covers it;
# the second depends on speed.
# The others are for test-nodes, test-image and test-packages: they need root, and minutes.
NODES = tests/nodes tests/deployments/test_running_nodes.py tests/deployments/test_running_stores.py
SLOW = tests/journeys/test_pixels.py tests/browser/test_quickness.py tests/container tests/packages $(NODES)
# What sends requests to redirects: to their protocol, to the ports of the service, from a browser, through proxies.
REDIRECTS = redirect architecture/test_redirect.py web/test_security_headers.py test_roles.py test_serve_tls.py \
	test_caddy.py resources/domains/test_tls_api.py resources/domains/certificates browser/test_firing.py \
	browser/test_previews.py $(JOURNEYS:%=journeys/test_%.py)
JOURNEYS = kills full_disk outage memory_limit click_limit attacks day domains previews privacy qrcodes \
	reports routing_guides suspension two_instances

# npm writes this file last.
PROVIDER = tests/certified_provider/node_modules/.package-lock.json

# Lint runs beside the tests: mypy takes one core.
test: .venv/.installed-test .venv/.tools-test .venv/.tools-compiler $(PROVIDER) .venv/.clickhouse-test .venv/.installed-docs .venv/.installed-deployments .venv/.openapi-test .venv/.npm-tools
	@$(if $(FILE),:,$(MAKE) lint) & lint=$$!; \
	.venv/bin/pytest -q -n 3 --dist loadfile --no-loadscope-reorder \
		$(or $(FILE),$(addprefix --ignore ,$(SLOW))) $(ARGS); tests=$$?; \
	wait $$lint || { echo "make lint failed"; exit 1; }; exit $$tests

test-fresh:
	@scripts/test-fresh $(ARGS)

test-slow: .venv/.installed-test .venv/.tools-test .venv/.clickhouse-test
	KILL_ROUNDS=20 WEBHOOK_KILL_ROUNDS=25 .venv/bin/pytest -q -n 2 --dist loadfile tests/journeys $(ARGS)
	BOTH_LOOKS=1 .venv/bin/pytest -q tests/browser/test_access.py tests/browser/test_quickness.py
	.venv/bin/python -m bench.scanning
	.venv/bin/pytest -q -n 2 -m hypothesis --hypothesis-profile default
	TOP_VALUES_ROUNDS=200 .venv/bin/pytest -q -n 2 tests/resources/clicks/stats/test_top_values.py -k cached_lists
	DEMO_IN_FULL=1 .venv/bin/pytest -q tests/test_demo.py --timeout 900
	CLICK_STORE_VISITS=1000000 .venv/bin/pytest -q tests/resources/clicks/test_click_stores.py
	DRAIN_IN_FULL=1 MOVE_DAYS=40 .venv/bin/pytest -q tests/resources/clicks/test_clickhouse_move.py \
		tests/resources/clicks/clickhouse/test_drain.py
	DAY_VISITS=1000000 .venv/bin/pytest -q tests/journeys/test_day.py -k sqlite
	ARCHIVE_LINKS=100000 .venv/bin/pytest -q tests/accounts/test_large_archive.py -k postgresql --timeout 1800

# Always from the current source, into a directory of its own: machine code beside source would hide changes of it.
compiled: .venv/.installed-test .venv/.tools-compiler
	@.venv/bin/python compile_redirects.py .venv/compiled

test-compiled: compiled .venv/.tools-test
	PYTHONPATH=$(CURDIR)/.venv/compiled KILL_ROUNDS=20 .venv/bin/pytest -q -n 3 --dist loadfile --no-loadscope-reorder \
		$(or $(FILE),$(addprefix tests/,$(REDIRECTS))) $(ARGS)

MINUTES ?= 3
test-nodes: .venv/.installed-test .venv/.tools-test .venv/.clickhouse-test .venv/.installed-deployments
	.venv/bin/pytest -q $(NODES)
	PYTHONPATH=tests:. .venv/bin/python -m nodes.long_run --minutes $(MINUTES) $(ARGS)

image:
	@scripts/build-image

test-image: .venv/.installed-test .venv/.tools-image
	.venv/bin/pytest -q tests/container $(ARGS)

test-packages: .venv/.installed-test .venv/.tools-packages
	.venv/bin/pytest -q tests/packages $(ARGS)

lint: .venv/.installed-test
	.venv/bin/ruff check $(SOURCES)
	.venv/bin/ruff format --check $(SOURCES)
	.venv/bin/mypy
	.venv/bin/lint-imports

dist: .venv/.installed-test .venv/.npm-tools
	UV_PYTHON_DOWNLOADS=never PATH="$(CURDIR)/.venv/bin:$$PATH" scripts/build-dist dist

bench: .venv/.installed-test .venv/.tools-compiler .venv/.tools-bench .venv/.npm-tools
	.venv/bin/python -m bench $(ARGS)

attack: .venv/.installed-test
	.venv/bin/python -m bench.attacks $(ARGS)

attack-compiled: compiled
	PYTHONPATH=$(CURDIR)/.venv/compiled .venv/bin/python -m bench.attacks $(ARGS)

docs: .venv/.installed-docs
	@.venv/bin/python -m docs_site $(ARGS)

client: .venv/.installed-test .venv/.npm-tools
	@.venv/bin/python -m clients.python.generator
	@.venv/bin/python -m clients.typescript.generator

stores: .venv/.installed-run
	@.venv/bin/python scripts/make-stores

diagrams: .venv/.installed-run
	@scripts/ensure 'command -v dot' graphviz
	@.venv/bin/python scripts/draw-diagrams

geo: .venv/.installed-run
	@scripts/ensure 'test -r /usr/share/tor/geoip6' tor-geoipdb
	@.venv/bin/python scripts/make-geo

bots: .venv/.installed-run
	@.venv/bin/python scripts/refresh-bots

models: .venv/.installed-test
	@.venv/bin/python scripts/make-models
	@.venv/bin/python scripts/check-devices

pictures: .venv/.installed-test
	@scripts/ensure 'command -v chromium-headless-shell' chromium-headless-shell
	@scripts/ensure 'command -v faketime' faketime
	@.venv/bin/python scripts/take-pictures

browser-extension: .venv/.npm-tools .venv/.installed-test
	@.venv/bin/python scripts/build-browser-extension dist

# Its tools take 190 MB. `make test` runs the same tests with a stub of n8n's package.
n8n-node: .venv/.installed-test .venv/.tools-test .venv/.npm-tools
	@mkdir -p .venv/n8n && cp -r integrations/n8n-nodes-waypost/. .venv/n8n/
	cd .venv/n8n && npm ci --ignore-scripts --no-audit --no-fund --silent && npm run --silent lint
	PATH="$(CURDIR)/.venv/bin:$$PATH" scripts/build-n8n-node dist
	N8N_WORKFLOW=$(CURDIR)/.venv/n8n/node_modules .venv/bin/pytest -q tests/integrations/test_n8n_node.py

clean:
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist .compared .bench site \
		tests/certified_provider/node_modules
	find $(SOURCES) -name __pycache__ -prune -exec rm -rf {} +

.venv/bin/uv:
	@scripts/make-venv
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)

.venv/.installed-run: uv.lock pyproject.toml clients/python/pyproject.toml | .venv/bin/uv
	@echo "Installing what Waypost needs, once …"
	@$(SYNC) --no-dev --extra remote --extra mcp
	@touch $@

.venv/.installed-test: uv.lock pyproject.toml clients/python/pyproject.toml | .venv/bin/uv
	@$(SYNC)
	@touch $@ .venv/.installed-run

.venv/.installed-docs: uv.lock pyproject.toml | .venv/bin/uv
	@echo "Installing what builds the documentation, once …"
	@$(SYNC) --no-dev --group docs
	@touch $@

.venv/.clickhouse-test: uv.lock pyproject.toml | .venv/bin/uv
	@echo "Installing the ClickHouse engine for the tests, once (170 MB) …"
	@$(SYNC) --group clickhouse-server
	@touch $@

# The certified OpenID Connect provider that tests sign in with.
$(PROVIDER): tests/certified_provider/package-lock.json | .venv/.tools-test
	@scripts/ensure 'command -v npm' npm
	@npm ci --prefix tests/certified_provider --ignore-scripts --no-audit --no-fund --silent
	@touch $@

# What checks the files of deploy/ and compose.yaml.
.venv/.installed-deployments: uv.lock pyproject.toml | .venv/bin/uv
	@$(SYNC) --group deployments
	@touch $@

# A generator of clients that reads the OpenAPI document.
.venv/.openapi-test: uv.lock | .venv/bin/uv
	@$(SYNC) --group openapi
	@touch $@

# What builds and tests the TypeScript client, and a linter of the OpenAPI document. Node.js runs npm; the tests run the
# oldest version that the client supports, which is one of the packages.
.venv/.npm-tools: scripts/npm/package-lock.json | .venv/bin/uv
	@scripts/ensure 'command -v node' nodejs
	@scripts/ensure 'command -v npm' npm
	@mkdir -p .venv/node && cp scripts/npm/package.json scripts/npm/package-lock.json .venv/node/
	@npm ci --prefix .venv/node --ignore-scripts --no-audit --no-fund --silent
	@touch $@

.venv/.tools-test: Makefile | .venv/bin/uv
	@scripts/ensure 'compgen -G "/usr/lib/postgresql/*/bin/initdb"' postgresql
	@scripts/ensure 'command -v chromium-headless-shell' chromium-headless-shell
	@scripts/ensure 'command -v node' nodejs
	@scripts/ensure 'command -v php' php-cli
	@scripts/ensure 'command -v pebble' pebble
	@scripts/ensure 'command -v caddy' caddy
	@scripts/ensure 'command -v zsh' zsh
	@scripts/ensure 'command -v fish' fish
	@scripts/ensure 'command -v promtool' prometheus
	@scripts/ensure 'command -v certutil' libnss3-tools
	@scripts/ensure 'command -v zbarimg' zbar-tools
	@scripts/ensure 'command -v rsvg-convert' librsvg2-bin
	@scripts/ensure 'command -v pdftoppm' poppler-utils
	@scripts/ensure 'PATH=$$PATH:/usr/sbin command -v haproxy' haproxy
	@scripts/ensure 'command -v faketime' faketime
	@scripts/ensure 'PATH=$$PATH:/usr/sbin command -v ip' iproute2
	@scripts/ensure 'command -v mount' mount
	@scripts/ensure 'command -v jq' jq
	@scripts/ensure 'command -v shellcheck' shellcheck
	@scripts/ensure 'test -x /lib/systemd/systemd' systemd
	@scripts/ensure 'compgen -G "/lib/*/libnss_systemd.so.2"' libnss-systemd
	@touch $@

.venv/.tools-compiler: Makefile | .venv/bin/uv
	@scripts/ensure 'command -v gcc' gcc
	@scripts/ensure 'test -e "$$(.venv/bin/python -c "import sysconfig; print(sysconfig.get_path(\"include\"))")/Python.h"' python3-dev
	@touch $@

.venv/.tools-image: Makefile | .venv/bin/uv
	@scripts/ensure 'command -v buildah' buildah
	@scripts/ensure 'command -v mmdebstrap' mmdebstrap
	@scripts/ensure 'PATH=$$PATH:/usr/sbin command -v ip' iproute2
	@scripts/ensure 'command -v mount' mount
	@touch $@

.venv/.tools-packages: Makefile | .venv/bin/uv
	@scripts/ensure 'command -v mmdebstrap' mmdebstrap
	@scripts/ensure 'command -v dpkg-deb' dpkg
	@scripts/ensure 'test -x /lib/systemd/systemd' systemd
	@touch $@

.venv/.tools-bench: | .venv/bin/uv
	@scripts/ensure 'command -v wrk' wrk
	@scripts/ensure 'PATH=$$PATH:/usr/sbin command -v nginx' nginx-light
	@touch $@
