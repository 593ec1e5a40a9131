# Everything a person does here, by verb.
# One binary without Swift's libraries beside it; `make run SWIFT_FLAGS=` builds for debugging instead.
SWIFT_FLAGS ?= -c release --static-swift-stdlib
PUSHCART = $$(swift build $(SWIFT_FLAGS) --show-bin-path)/pushcart

.DEFAULT_GOAL := help
.PHONY: help run build setup test soak bench format

help: ## Show this help
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1#\2/p' Makefile | awk -F'#' '{ printf "%-14s %s\n", $$1, $$2 }'

run: build ## Build the hub and start a private one with samples, to try it (Ctrl-C ends it); ARGS="--port 9000" goes to it
	@exec "$(PUSHCART)" demo $(ARGS)

build: setup ## Build the hub as one binary
	swift build $(SWIFT_FLAGS) --product pushcart

setup: ## Install what is missing: libpq and PostgreSQL
	@.ci/setup

test: setup ## Run all tests, on a private PostgreSQL that they start themselves
	@.ci/test

soak: setup ## Run the durability test at full size: 100,000 registrations under 20 kills of hub and database
	PUSHCART_SOAK=100000 swift test --filter PushcartTests.Durability

bench: build ## Measure the hub beside its yardsticks and write Tests/Bench/RESULTS.md
	@.ci/setup bench
	PUSHCART="$(PUSHCART)" Tests/Bench/run

format: ## Format the Swift sources
	swift format --in-place --recursive Package.swift Sources Tests
