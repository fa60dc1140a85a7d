# signalbox. `make` lists the targets.

GO      ?= go
BIN     := .bin
LINT    := $(BIN)/golangci-lint
LINTVER := v2.15.0
COVERED := ./orchestrator/stage/... ./gates/... ./queue/...

.DEFAULT_GOAL := help
.PHONY: help demo test test-browser test-jail test-agents test-emulate corpus conformance check long nightly lint fmt cover bench bench-queue bench-engine bench-tiles fuzz soak torture sim mutants vuln apidiff build release-dry drill test-manifests tools

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: tools ## watch cards go from the board to deployed; ends with Ctrl-C
	@echo "compiling the demo: a minute or two the first time, seconds after that" >&2
	@$(GO) run -trimpath ./examples/demo $(ARGS)

test: tools ## the quick suite: everything but long lives, tortures (make long) and most of the browser (make check)
	@command -v node >/dev/null && command -v npm >/dev/null || echo "!! node or npm is missing: no tile will be decoded with @mapbox/vector-tile (install Node.js 18 or newer)"
	@command -v initdb >/dev/null || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || test -n "$$TEST_DATABASE_URL$$PGTEST_BINDIR" || echo "!! PostgreSQL is missing: its tests are skipped (apt-get install -y postgresql)"
	@$(IN_MEMORY) set -x; GOGC=400 $(GO) test -short -vet=off -p 3 -timeout 25m ./...
	@$(MAKE) --no-print-directory test-browser ARGS="--grep @quick --workers 2"

# Of the processor's time collecting garbage takes a tenth, unless it may wait; vet is a part of lint.
#
# Tests make and delete files by the hundred thousand. With 2 GB free in memory, where programs may run, that is done there. The name stays
# the same, so that results are cached.
ROOM := /dev/shm/signalbox.$(shell id -u)
IN_MEMORY = if df -Pk /dev/shm 2>/dev/null | awk 'END { exit $$4 < 2000000 }' && mkdir -p $(ROOM) && test -O $(ROOM) -a ! -L $(ROOM) && \
	cp /bin/true $(ROOM)/runs && $(ROOM)/runs 2>/dev/null; then \
	chmod 1777 $(ROOM); find $(ROOM) -mindepth 1 -maxdepth 1 -mmin +600 -exec rm -rf {} +; export TMPDIR=$(ROOM); fi;

test-browser: tools ## the pages in a real Chromium; ARGS goes to playwright test
	@sh examples/browsertest/prepare.sh
	@cd examples/browsertest && npm run --silent types && npm run --silent unit && npm run --silent test -- $(ARGS)

test-jail: tools ## attacks from within the jail of agents and checks, and honest work in it
	@mkdir -p $(BIN)
	@$(GO) test -count 1 -timeout 20m -v ./internal/jail >$(BIN)/jail.log 2>&1 || { grep -v '^ *=== \|^ *--- PASS' $(BIN)/jail.log; exit 1; }
	@grep '^jail: ' $(BIN)/jail.log
	$(GO) test -count 1 -timeout 20m -run 'Jail' ./adapters/agentcli ./adapters/gitcli ./adapters/egress ./internal/app
	$(GO) test -count 1 -run 'Takeover|NoJail|Forged|Canaries|ShowsNoSecret' ./examples/server

AGENTS := $(BIN)/agents
test-agents: tools ## the real tools (npm installs them) against imitations of their models; AGENTS_AT=latest for their newest versions
	@mkdir -p $(AGENTS) && cp adapters/agentcli/testdata/agents/package.json $(AGENTS)/
	@npm install --silent --no-audit --no-fund --prefix $(AGENTS) $(if $(AGENTS_AT),$$(sed -n 's/^    "\(.*\)": "[0-9].*/\1@$(AGENTS_AT)/p' $(AGENTS)/package.json))
	@for pkg in ./adapters/agentcli ./examples/server; do \
		SIGNALBOX_REAL_AGENTS="$(CURDIR)/$(AGENTS)" $(GO) test -count 1 -parallel 4 -timeout 30m -v -run 'TestRealAgents|TestRealClaude' $$pkg >$(BIN)/agents.log 2>&1; ended=$$?; \
		if [ $$ended != 0 ]; then grep -v '^ *=== \|^ *--- PASS' $(BIN)/agents.log; exit 1; fi; \
		grep '^agents: ' $(BIN)/agents.log; \
	done

EMULATE := $(BIN)/emulate
test-emulate: tools ## the client of GitHub against a GitHub that others have written (npm installs it)
	@command -v npm >/dev/null || { echo "!! node or npm is missing: skipped"; exit 0; }; \
		npm install --silent --no-audit --no-fund --ignore-scripts --prefix $(EMULATE) emulate@0.11.2 && \
		SIGNALBOX_EMULATE="$(CURDIR)/$(EMULATE)" $(GO) test -count 1 -run TestEmulatedGitHub ./adapters/github

corpus: tools ## files of tracks by strangers, and what other readers say of them; then compare them
	@sh gpstracks/trackfile/testdata/strangers/fetch.sh $(BIN)/strangers
	$(GO) test -count 1 -run TestStrangers -v ./gpstracks/trackfile

conformance: tools ## the rows of the specification, each with what came of its tests; ARGS='-part stop' for some, -faults to plant each row's faults
	@sh examples/browsertest/prepare.sh
	@$(GO) test -count 1 -timeout 60m -v ./internal/conformance -run TestConformance -drive $(ARGS)

check: tools fmt lint ## what gates a change: format, lint, floor plan, the quick suite with the race detector, simulated worlds, all of the browser, coverage
	$(GO) mod tidy -diff
	@race="$(GO) test -timeout 90m -race -short $$($(GO) list ./... | grep -v internal/simulate | tr '\n' ' ')"; \
	{ $$race; echo $$? >$(BIN)/race.code; } 2>&1 | tee $(BIN)/race.log; grep -qx 0 $(BIN)/race.code || \
	{ grep '^ThreadSanitizer: CHECK failed' $(BIN)/race.log && $$race; } # the detector itself has failed: what has passed is known
	$(GO) test -timeout 30m -short ./internal/simulate/... # which runs one process at a time
	@$(MAKE) --no-print-directory sim
	@$(MAKE) --no-print-directory test-browser
	@$(MAKE) --no-print-directory cover

long: tools ## every test, long lives and tortures too: an hour
	$(GO) test -timeout 90m ./...

nightly: tools ## hours: every test with the race detector, each sickness and situation, planted bugs, 20000 worlds, the upgrade, fuzzing
	$(GO) test -timeout 90m -race ./...
	cd bench/queue && $(GO) vet ./...
	cd bench/tiles && $(GO) vet ./...
	SOAK=1 $(GO) test -timeout 40m -run 'TestSickNeighbours|TestSituations' ./examples/server
	@$(MAKE) --no-print-directory soak drill mutants test-emulate sim SEEDS=20000
	@$(MAKE) --no-print-directory fuzz

fmt:
	@out="$$(gofmt -l .)"; if [ -n "$$out" ]; then echo "not formatted (gofmt -w):"; echo "$$out"; exit 1; fi

lint: $(LINT)
	$(LINT) run ./...

$(LINT):
	GOBIN="$(CURDIR)/$(BIN)" $(GO) install github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(LINTVER)

cover: ## coverage of the stage machine, gates, queue and leases: at least 90 %
	@mkdir -p $(BIN)
	@$(GO) test -coverprofile=$(BIN)/cover.out -coverpkg=./orchestrator/stage,./gates,./gates/checks,./gates/fixture,./queue,./queue/memqueue,./queue/lease,./queue/lease/memlease \
		$(COVERED) ./orchestrator/features/... ./orchestrator/memstore ./adapters/filelease >/dev/null
	@$(GO) tool cover -func=$(BIN)/cover.out | awk '/^total:/ { sub("%", "", $$3); print "coverage of stage, gates, queue, lease: " $$3 " %"; if ($$3 < 90) exit 1 }'

bench: ## benchmarks of what is done often; of queue and stores: bench-queue
	$(GO) test -run '^$$' -bench . -benchtime 2s ./orchestrator/secret ./orchestrator/stage ./orchestrator/web/dashboard

bench-queue: ## the queue beside River and goqite; ARGS=-quick for two minutes
	@cd bench/queue && $(GO) run . $(ARGS)

bench-engine: ## whole lives of tasks on real stores, beside 0 to 100,000 others; ARGS='-live 0,1000' for a few minutes
	$(GO) test -run '^$$' -bench Life -benchtime 200x -timeout 120m ./examples/benchengine $(ARGS)

TRACKS ?= 200000
bench-tiles: ## tracks and tiles beside orb, PostGIS and tile servers (ARGS=-quick), in stores of TRACKS tracks: a million takes long
	$(GO) test -run '^$$' -timeout 60m -benchtime 300ms -bench '^Benchmark(Encode|List)$$' ./gpstracks/tile ./gpstracks/trackhttp
	cd bench/tiles && $(GO) test -count 1 -v -timeout 60m . $(ARGS)
	$(GO) test -run '^$$' -timeout 60m -benchtime 1x -bench '^BenchmarkStore$$' ./internal/trackstore -tracks $(TRACKS)

FUZZTIME ?= 20s
fuzz: ## each fuzz target for FUZZTIME
	@for pkg in $$($(GO) list ./...); do \
		for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz'); do \
			echo "$$pkg $$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) $$pkg || exit 1; \
		done; \
	done

SOAK ?= 20
soak: ## tests that look for rare things, SOAK times as long
	SOAK=$(SOAK) $(GO) test -timeout 60m -run 'TestHistory|TestReplicas' -v ./adapters/postgres
	SOAK=$(SOAK) $(GO) test -timeout 60m -run 'TestKilledGitAtEachCall|TestConvergence|TestSickNeighbours|TestSituations' ./adapters/gitcli ./orchestrator ./examples/server

STORE ?= sqlite
CYCLES ?= 1000
torture: tools ## kill the server CYCLES times (kill -9), at random, within its calls, from agents and git hooks, on STORE=sqlite or postgres
	TORTURE=$(CYCLES) STORE=$(STORE) $(GO) test -count 1 -timeout 0 -run TestTorture -v ./examples/demo

SEEDS ?= 2000
sim: ## simulated worlds, SEEDS of them (100000 for a night)
	$(GO) run ./internal/simulate/sim -seeds 0..$(SEEDS)

mutants: ## plant every bug of the list and find it; writes the table in docs/reliability.md
	MUTANTS=all $(GO) test ./internal/simulate -run 'TestMutants|TestKnownFaults' -count 1 -timeout 60m -v

VULNDB ?= https://vuln.go.dev
vuln: ## known faults in what is built in; VULNDB=file:///srv/vulndb takes a copy of the database
	$(GO) run golang.org/x/vuln/cmd/govulncheck@v1.9.0 -db "$(VULNDB)" ./...

APIDIFF := $(GO) run golang.org/x/exp/cmd/apidiff@v0.0.0-20261113113407-e3970619a1a4
apidiff: tools ## the public API against the last release: what breaks an importer fails, unless the changelog names it since
	@if test "$$(git rev-parse --is-shallow-repository)" = true; then echo "the clone is shallow: git fetch --unshallow --tags"; exit 1; fi
	@last="$$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null)"; \
	if test -z "$$last"; then echo "there is no tag v* yet: no API to compare with"; exit 0; fi; \
	mkdir -p $(BIN); old="$$(mktemp -d)"; trap 'git worktree remove --force "$$old"' EXIT; \
	git worktree add --quiet --detach "$$old" "$$last" && (cd "$$old" && $(APIDIFF) -m -w "$(CURDIR)/$(BIN)/api.old" .) && \
	$(APIDIFF) -m -w $(BIN)/api.new . && $(APIDIFF) -m $(BIN)/api.old $(BIN)/api.new 2>/dev/null >$(BIN)/api.diff || exit 1; \
	cat $(BIN)/api.diff; git diff "$$last" -- CHANGELOG.md | grep '^+' >$(BIN)/api.told; \
	sed -n '/^Incompatible/,/^Compatible/s/^- //p' $(BIN)/api.diff | grep -v '^\./examples/' | tr -d '(*)' | \
	while IFS=: read -r name _; do grep -qF "$${name##*/}" $(BIN)/api.told || { echo "!! $$name"; broken=1; }; test -z "$$broken"; done || \
	{ echo "!! an importer of $$last breaks: keep these names, or tell of them in CHANGELOG.md"; exit 1; }

build: ## the reference server, as ./bin/signalbox
	$(GO) build -trimpath -o bin/ .

GORELEASER := v2.16.0# as in .github/workflows/release.yml, with syft
SYFT := v1.57.1
release-dry: tools ## what a release of HEAD has, into ./.bin/release, made twice and compared; nothing is published
	@test -x $(BIN)/$(GORELEASER)/goreleaser || GOBIN="$(CURDIR)/$(BIN)/$(GORELEASER)" $(GO) install github.com/goreleaser/goreleaser/v2@$(GORELEASER)
	@test -x $(BIN)/$(SYFT)/syft || GOBIN="$(CURDIR)/$(BIN)/$(SYFT)" $(GO) install github.com/anchore/syft/cmd/syft@$(SYFT) || echo "!! syft cannot be built here"
	@rm -rf $(BIN)/release
	@PATH="$(CURDIR)/$(BIN)/$(GORELEASER):$(CURDIR)/$(BIN)/$(SYFT):$$PATH" sh examples/server/packaging/dry.sh $(CURDIR)/$(BIN)/release

drill: tools ## an older build's cards are taken over by this one, and the way back, on both stores
	SOAK=1 $(GO) test -count 1 -timeout 30m -v -run TestUpgrade ./examples/server

test-manifests: tools ## the Kubernetes manifests by the API's own types
	@cd bench/manifests && $(GO) test -count 1 ./...

tools:
	@command -v $(GO) >/dev/null || { echo "Go is missing: install Go 1.26 or newer (https://go.dev/dl)"; exit 1; }
	@command -v git >/dev/null || { echo "git is missing: apt-get install git"; exit 1; }
