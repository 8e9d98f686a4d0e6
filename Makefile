# SPDX-License-Identifier: GPL-2.0-or-later
# The verbs of this repository. Each calls one tool; what it takes is built first if it is missing.

# Debian's own Python: the one that apt installs pytest for.
PYTHON ?= /usr/bin/python3
PYTEST ?= $(PYTHON) -m pytest
N ?= 1
RUN_ARGS ?=
K ?= 6.12

export PYTHONPATH := $(CURDIR)/tools/vm:$(CURDIR)/tools
export PYTHONDONTWRITEBYTECODE := 1
export VERNA_KERNEL

.PHONY: help setup run test test-debug unit vm kselftest switch lint fuzz bench bench-eth bench-flow clean clean-all

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)
	@echo
	@echo 'Variables: VERNA_CACHE=DIR  where built things are kept (default ~/.cache/verna)'
	@echo '           ACCEL=tcg|kvm    instead of probing;  N=2  two guests for "make vm"'
	@echo '           VERNA_KERNEL=7   the newest kernel of Debian in guests instead of the stock one;'
	@echo '                            debug: a kernel that checks (built once, a quarter of an hour)'
	@echo '           T=EXPRESSION     which tests "make test" runs (pytest -k)'
	@echo '           ONLY=NAME        tests "make kselftest" runs, such as drivers/net/hw/csum.py'
	@echo '           TESTS=7          tests of the newer kernel on the stock one'

setup: ## build what is missing: SDK, QEMU with the card, driver, provider, guest image
	@$(PYTHON) tools/setup

run: setup ## the main job: two guests, two cards, perftest between them; prints a table
	@$(PYTHON) tools/bench/run.py $(RUN_ARGS)

test: setup ## all tests: C++ unit tests, lint, and pytest with guests
	@# Built here so that one sees how far it is; what fails here fails as a test below.
	@$(PYTHON) tools/setup unit fuzz >/dev/null || :
	@$(PYTEST) -n 3 tests $(if $(T),-k '$(T)') $(PYTEST_ARGS)

# The driver's own tests; what only tries the tools, moves many bytes, measures a rate or is rxe's
# needs no such kernel.
DEBUG_TESTS ?= smoke fault_injection netdev eth_stress steering scheduler xdp offload_rx offload_tx \
	verbs faults rdma_tools vlan guests vernactl interop
DEBUG_SKIP := one_gibibyte or (test_guests and not trouble and not plug) or wrong_property or \
	moderation_saves or carrier_comes_at_once or (test_vlan and rxe) or icrc_of_tagged

test-debug: export VERNA_KERNEL := debug
test-debug: setup ## the guest tests on a kernel with KASAN, lockdep, kmemleak, fault injection
	@$(PYTEST) $(DEBUG_TESTS:%=tests/vm/test_%.py) \
		-k '$(if $(T),($(T)) and )not ($(DEBUG_SKIP))' $(PYTEST_ARGS)

unit: ## the C++ unit tests only
	@$(PYTHON) tools/setup unit >/dev/null || :
	@$(PYTEST) tests/unit/test_ctest.py $(PYTEST_ARGS)

vm: setup ## a shell in a guest with a card (N=2: two guests, joined by a link)
	@$(PYTHON) -m verna_vm.shell $(N)

lint: setup ## licences, words, sizes, format, checkers of C, C++, shell and Python
	@tools/lint/lint

kselftest: setup ## the kernel's own driver tests on two linked cards (K=7: a newer kernel and its tests)
	@$(PYTHON) tools/kselftest/run.py --kernel $(K) $(if $(TESTS),--tests $(TESTS)) $(if $(ONLY),--only $(ONLY)) $(KSELFTEST_ARGS)

switch: setup ## tenants behind the embedded switch, at length: rules, rates, changes of mode
	@VERNA_SWITCH_SECONDS=10 VERNA_SWITCH_CHANGES=50 $(PYTEST) tests/vm/test_sriov.py \
		tests/vm/test_switchdev.py tests/vm/test_switch_users.py $(PYTEST_ARGS)

fuzz: ## search for inputs that break the card, for FUZZ_SECONDS (600)
	@$(PYTHON) tools/setup fuzz >/dev/null
	@$(PYTHON) tools/fuzz/fuzz.py

bench-eth: setup ## Ethernet, offload by offload, beside igb, e1000e, vmxnet3, virtio-net (BENCH_ARGS)
	@$(PYTHON) tools/setup charts >/dev/null
	@$(PYTHON) tools/bench/eth/run.py $(BENCH_ARGS)

bench-flow: setup ## what rules cost, in software and in the card; VF to VF beside igb (BENCH_ARGS)
	@$(PYTHON) tools/setup charts >/dev/null
	@$(PYTHON) tools/bench/flow/run.py $(BENCH_ARGS)

bench: run ## another name for "make run", whose table is the benchmark

clean: ## drop what this checkout built; the SDK and other costly things stay
	@$(PYTHON) tools/setup --clean

clean-all: ## empty the cache
	@$(PYTHON) tools/setup --clean-all
