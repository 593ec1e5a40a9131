# Everything a person does here, by verb.
# `make run` and `make test` share the debug build, so nothing is compiled twice. The release build is optimised, holds
# Swift's libraries, and has no symbols.
RELEASE = -c release --static-swift-stdlib -Xswiftc -cross-module-optimization -Xlinker -s

.DEFAULT_GOAL := help
.PHONY: help run build setup test tsan asan fuzz soak bench faults docs screenshots format

help: ## Show this help
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1#\2/p' Makefile | awk -F'#' '{ printf "%-18s %s\n", $$1, $$2 }'

run: setup ## Build for debugging and start a private hub with samples, to try it (Ctrl-C ends it); ARGS="--port 9000" goes to it
	swift build --product pushcart
	@exec "$$(swift build --show-bin-path)/pushcart" demo $(ARGS)

build: setup ## Build the hub for production as one binary, .build/release/pushcart
	swift build $(RELEASE) --product pushcart

setup: ## Install what is missing: libpq, libnghttp2, libmaxminddb, libxml2, zlib and PostgreSQL
	@.ci/setup

test: ## Run all tests, on a private PostgreSQL that they start themselves
	@.ci/setup test
	@.ci/test

# Each has a build of its own. The rooms that share state between tasks, and those that call C. Leaks are not looked for: Swift keeps
# pointers in enumerations with bits of its own in them, and what they lead to would be reported.
tsan: ## Run the tests of what many tasks share under the thread sanitizer, and fail if it reports anything
	@.ci/setup test
	TSAN_OPTIONS="suppressions=$(CURDIR)/Tests/Sanitizers/threads.txt history_size=4" \
		swift test --sanitize thread --scratch-path .build/tsan -Xswiftc -DPTHREAD_MUTEX \
		--experimental-maximum-parallelization-width 6 --filter '^(PostgresTests|DeliveryTests|SendoutsTests|SubscriptionsTests)\.'

asan: ## Run the tests of what calls C under the address sanitizer, and fail if it reports anything
	@.ci/setup test
	ASAN_OPTIONS="detect_stack_use_after_return=0:detect_leaks=0" \
		swift test --sanitize address --scratch-path .build/asan \
		--experimental-maximum-parallelization-width 6 --filter '^(PostgresTests|ProvidersTests|XMLTests|WebTests)\.'

# With libFuzzer, and with the address sanitizer, since a release build reads memory unchecked. Neither PostgreSQL nor the hub runs.
FUZZER = FUZZ=1 swift build --configuration release --sanitize fuzzer -Xswiftc -sanitize=fuzzer,address --scratch-path .build/fuzz --product Fuzz
fuzz: ## Feed each reader of others' bytes with damaged ones for SECONDS_EACH (600) seconds, and keep those that it cannot take
	$(FUZZER)
	@set -e; fuzz="$$($(FUZZER) --show-bin-path)/Fuzz"; mkdir -p .build/fuzz/corpora; \
	"$$fuzz" -runs=0 .build/fuzz/corpora; \
	for reader in $$(ls .build/fuzz/corpora); do \
		READER=$$reader "$$fuzz" .build/fuzz/corpora/$$reader -artifact_prefix=.build/fuzz/$$reader- -max_len=4096 -timeout=5 \
			-rss_limit_mb=2048 -max_total_time=$${SECONDS_EACH:-600} -print_final_stats=1 || failed=1; \
	done; [ -z "$$failed" ]

soak: setup ## Run the durability tests at full size: 100,000 registrations and changes, and 5,000 messages, under kills; then all samples
	PUSHCART_SOAK=100000 swift test --filter 'PushcartTests.*(Durability|DataTreeCrash)'
	PUSHCART_SOAK=8000 swift test --filter '^(Postgres|Registry|Providers|Outbox|Subscriptions|Web)Tests\.'

bench: build ## Measure the hub beside its yardsticks and write Tests/Bench/RESULTS.md; LARGE=1 adds a million devices
	@.ci/setup bench
	swift build $(RELEASE) --product EncryptionRate
	PUSHCART="$$(swift build $(RELEASE) --show-bin-path)/pushcart" Tests/Bench/run

faults: build ## Kill hubs and PostgreSQL, disturb customers' neighbours, break more, and write Tests/Faults/FAULTS.md
	@.ci/setup faults
	PUSHCART="$$(swift build $(RELEASE) --show-bin-path)/pushcart" Tests/Faults/run

docs: setup ## Write docs/settings.md, docs/cli.md and docs/errors.md from the hub's own tables
	swift build --product pushcart
	@"$$(swift build --show-bin-path)/pushcart" documents

screenshots: ## Take each page of the console, light and dark, desktop and phone, into .build/screenshots; README's go to docs
	@.ci/setup browser
	swift build --product pushcart
	@PUSHCART="$$(swift build --show-bin-path)/pushcart" Tests/Browser/run

format: ## Format the Swift sources
	swift format --in-place --recursive Package.swift Sources Tests
