# Tools run from the module proxy at these versions; nothing is installed and go.mod stays free of them.
gofumpt   := mvdan.cc/gofumpt@v0.12.0
goimports := golang.org/x/tools/cmd/goimports@v0.52.0
golangci  := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

module  := github.com/holdfast-mq/holdfast
version := $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)

.DEFAULT_GOAL := help
.PHONY: help demo recording setup services services-stop test integration race fuzz bench check fmt fmt-check vet lint build clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  \1\t\2/p' $(MAKEFILE_LIST) | expand -t 18

demo: ## show the main job, on a broker inside the process
	@go run ./cmd/holdfast demo

setup: ## install the servers that the tests use
	@scripts/setup

services: setup ## start them: private nodes, found through .services.env
	@scripts/services start

services-stop: ## stop those that this tree started
	@scripts/services stop

test: ## run every test; sets up and starts what is missing
	@scripts/test

integration: ## run only the tests that need servers
	go test -count=1 -p 1 -timeout 20m $(TESTFLAGS) ./test/...

race: ## run the tests that need no server, with the race detector
	go test -race -count=1 $(TESTFLAGS) $$(go list ./... | grep -v '^$(module)/test/')

fuzz: ## fuzz the decision for 30 s
	go test -run '^$$' -fuzz FuzzDecide -fuzztime 30s .

bench: ## measure; BENCH_OUT and BENCH_OUTBOX_OUT name files for the JSON
	go run ./bench
	cd bench/outbox && BENCH_OUT='$(abspath $(BENCH_OUTBOX_OUT))' go run .

check: fmt-check vet lint ## formatting, vet and lint

fmt: ## format the code
	go run $(gofumpt) -w .
	go run $(goimports) -local $(module) -w .

fmt-check:
	@files=$$(go run $(gofumpt) -l . && go run $(goimports) -local $(module) -l .) || exit 1; \
	[ -z "$$files" ] || { echo "not formatted (make fmt):"; echo "$$files"; exit 1; }

vet:
	go vet ./...

lint:
	go run $(golangci) run

build: ## build bin/holdfast
	go build -ldflags '-X $(module)/internal/cli.version=$(version)' -o bin/holdfast ./cmd/holdfast

recording: build ## make the moving picture of the README anew
	cd docs/media && go run . ../../bin/holdfast demo.gif

clean: services-stop ## stop the services and remove all that was built or stored
	scripts/postgres remove
	for set in second third; do HOLDFAST_SET=$$set scripts/services stop; HOLDFAST_SET=$$set scripts/postgres remove; done
	rm -rf bin .services .services-* .services*.env
