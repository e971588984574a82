# Three commands a developer needs: make test, make check, make help.

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2

.DEFAULT_GOAL := help

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

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
