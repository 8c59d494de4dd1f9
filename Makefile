# Every target works on all modules of modules.txt unless it says otherwise.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.NOTPARALLEL:

GO ?= go
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
PACKAGES := $(shell awk '/^[.a-z]/ { print ($$1 == "." ? "./..." : "./" $$1 "/...") }' modules.txt)
COMMANDS := ./internal/integration/cmd
# Most of the tests against servers wait for leases to end, so more of them than there are processors run side by side.
ATONCE := -parallel 4 -timeout 30m
# More flags for go test, such as TESTFLAGS='-run Gate -count=5'.
TESTFLAGS ?=

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-12s %s\n", $$1, $$2 }' Makefile

.PHONY: setup
setup: ## install what the tests need
	@internal/integration/install.sh

.PHONY: test
test: setup lint tidy-check ## everything that must pass before a change lands
	$(GO) run $(COMMANDS)/withservers -- $(GO) test -race -json $(ATONCE) $(TESTFLAGS) $(PACKAGES) | $(GO) run $(COMMANDS)/testsummary

.PHONY: quick
quick: ## vet and test the root module alone: no server, no download
	GOWORK=off $(GO) vet ./...
	GOWORK=off $(GO) test $(TESTFLAGS) ./...

.PHONY: lint
lint: ## gofmt, go vet, staticcheck
	@unformatted=$$(gofmt -s -l .); if [ -n "$$unformatted" ]; then echo "not formatted, run make fmt:"; echo "$$unformatted"; exit 1; fi
	$(GO) vet $(PACKAGES)
	$(GO) run $(STATICCHECK) $(PACKAGES)

.PHONY: fmt
fmt: ## format the Go files
	gofmt -s -w .

.PHONY: tidy
tidy: ## run go mod tidy in every module, with the siblings at the version of the next release
	$(GO) run $(COMMANDS)/modproxy tidy

.PHONY: tidy-check
tidy-check: ## fail with a diff if make tidy would change anything
	$(GO) run $(COMMANDS)/modproxy tidy-check

.PHONY: rehearse
rehearse: ## build, install and use the next release from a throw-away module proxy
	$(GO) run $(COMMANDS)/modproxy rehearse

.PHONY: bench
bench: ## measure what the fence costs beside the same work without it, as ratios in one run
	$(GO) run $(COMMANDS)/withservers -- $(GO) test -run '^$$' -bench . -benchtime 2000x ./internal/integration/benchmarks

.PHONY: drill
drill: ## freeze a lock holder past its lease and judge what its late write does
	$(GO) run ./cmd/fencerow drill
