# Three commands a developer needs: make test, make check, make help.

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: test
test: ## every test, fast
	go test ./...

.PHONY: check
check: fmt vet lint tidy race ## what a change must pass: gofmt, go vet, staticcheck, go mod tidy, tests with -race

.PHONY: e2e
e2e: ## the stories of tests/e2e, each step printed
	go test -count=1 -v ./tests/e2e/...

.PHONY: interop
interop: ## real MCP clients and a real MCP server through the gateway (installs pinned npm tools)
	./tests/interop/run.sh

.PHONY: model
model: linear ## the ledger's state machine searched for a broken promise: Go over the real ledger, Spin (skipped, and said so, without it), races; as tables
	go run ./scripts/gotest -count=1 -timeout 20m ./tests/model -model default

.PHONY: model-full
model-full: linear ## the same with the large configurations: about half an hour, at most 4 GB
	GOMEMLIMIT=2500MiB go run ./scripts/gotest -count=1 -timeout 120m -parallel 1 ./tests/model -model full

.PHONY: linear
linear: ## recorded histories of AWS_ENDPOINT_URL (default: the stand-in) checked for linearizability
	cd tests/model/linear && go run github.com/countersign-mcp/countersign/scripts/gotest -skips=../../../.ci/allowed-skips -count=1 .

.PHONY: bench-ledger
bench-ledger: ## what each flow costs through the gateway, and what a sweep over 10,000 waiting calls does
	go test -count=1 -v -timeout 30m -run 'TestCostPerFlow|TestASweepOverALongQueue' ./tests/bench -sweep.rows=10000

.PHONY: bench-search
bench-search: ## tool search on LiveMCPBench's questions beside a plain BM25: recall, time, memory (DATA=folder, see docs/search.md)
	go run ./tests/search -data "$(DATA)"

.PHONY: soak
soak: ## 100,000 calls with 1 % faults: duplicates, doubts, rows, memory and the price of a sweep
	go test -count=1 -v -timeout 120m -run TestSoak ./tests/bench -soak.calls=100000

.PHONY: fuzz
FUZZTIME ?= 5m
fuzz: ## every fuzz target for five minutes each (FUZZTIME=10s for a look)
	@grep -rnoE '^func Fuzz[A-Za-z0-9]+' --include='*_test.go' internal | while IFS=: read -r file _ target; do \
	  echo "== $$(dirname "$$file") $${target#func }"; \
	  go test -run '^$$' -fuzz "^$${target#func }$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "./$$(dirname "$$file")" || exit 1; \
	done

.PHONY: chaos
chaos: ## the functions killed at every network boundary, and 1,000 random runs: never a call twice, never a guess
	go run ./tests/chaos/run -singles -outages -random 1000

.PHONY: chaos-full
chaos-full: ## the same with pairs of faults and 10,000 random runs, and the code broken on purpose to see that this is found: an hour
	go run ./tests/chaos/run -singles -outages -pairs -random 10000
	go run ./tests/chaos/run -mutations

.PHONY: ci
ci: ## everything the continuous build runs
	./.ci/run

.PHONY: fmt
fmt: ## files that gofmt would change
	@out=$$(find . -name '*.go' -not -path '*/testdata/*' -not -path '*/node_modules/*' | xargs gofmt -l) || exit 1; \
	if [ -n "$$out" ]; then echo "gofmt would change these files (cure: gofmt -w FILE):"; echo "$$out"; exit 1; fi

.PHONY: vet
vet: ## go vet
	go vet ./...

.PHONY: lint
lint: ## staticcheck, pinned
	go run $(STATICCHECK) ./...

.PHONY: tidy
tidy: ## go.mod and go.sum name exactly what is imported
	go mod tidy -diff

.PHONY: race
race: ## every test with the race detector, in random order, no unexplained skip
	go run ./scripts/gotest -race -shuffle=on ./...
