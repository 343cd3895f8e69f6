# All that a user or CI runs. `make help` lists it.
SHELL := /bin/bash
.DEFAULT_GOAL := help

VENV := $(CURDIR)/.venv
BIN := $(VENV)/bin
# Named by what it was made from and for, so that a changed lock or a moved tree makes it again.
VENV_READY := $(VENV)/.ready-$(shell { echo $(CURDIR); cat requirements/dev.txt pyproject.toml; } | sha256sum | cut -c1-16)
# The same for what one benchmark needs besides.
BENCH_READY := $(VENV)/.ready-bench-$(shell cat requirements/bench.txt requirements/dev.txt | sha256sum | cut -c1-16)
ANSWERS_READY := $(VENV)/.ready-answers-$(shell cat requirements/answers.txt requirements/dev.txt | sha256sum | cut -c1-16)
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-annotate --upgrade \
	--custom-compile-command "make lock"
INVENTORY ?= inventories/lab
SCENARIO ?= default
# Those of `make test`; with BESIDE=1 all run side by side: 18 GiB of free memory.
SCENARIOS := default consistency tenancy ha
BESIDE ?=
# Of the warehouse that `make fuzz` and `make answers` drive: a lab_label of an inventory.
LABEL ?= lab
STEPS ?= 200
COUNT ?= 200
# What `make unit` and `make integration` run in place of all their tests: path, path::name, options of pytest.
TESTS ?=
# `never` keeps the scenario's hosts for a look at them, `passed` those of one that failed.
MOLECULE_DESTROY ?= always
# Appended to every ansible-playbook, for example ARGS="--tags check -v".
ARGS ?=

export ANSIBLE_CONFIG := $(CURDIR)/ansible.cfg
export PATH := $(BIN):$(PATH)

# Asks for the sudo password only where one is needed and a terminal can take it.
SUDO_ASK = $(shell [ "$$(id -u)" = 0 ] || sudo -n true 2>/dev/null || { [ -t 0 ] && echo --ask-become-pass; })
PLAY = $(BIN)/ansible-playbook -i $(INVENTORY) $(ARGS)
YAML_TREES := $(wildcard site.yml requirements.yml .pre-commit-config.yaml .ansible-lint .yamllint artifacts inventories jobs \
	filter_plugins library molecule playbooks roles tests)
PYTHON_TREES := $(wildcard src action_plugins filter_plugins lookup_plugins doc_fragments library jobs tests tools molecule)

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):[^#]*## */\1\t/' | awk -F'\t' '{printf "%-18s %s\n", $$1, $$2}'

.PHONY: lab
lab: venv ## bring up the whole warehouse in containers and run the PySpark job
	$(PLAY) $(SUDO_ASK) playbooks/lab.yml

.PHONY: lab-down
lab-down: venv ## remove the lab's containers and network; the cache stays
	$(PLAY) playbooks/lab_down.yml

.PHONY: clean-cache
clean-cache: venv ## remove the cache of artifacts and the base image
	$(PLAY) playbooks/clean_cache.yml

.PHONY: smoke
smoke: venv ## run the PySpark job again on a running lab; writes build/smoke.json
	$(PLAY) playbooks/smoke.yml

.PHONY: artifacts
artifacts: venv ## resolve, verify and cache what is installed (ARGS="--tags list" only prints it)
	$(PLAY) playbooks/artifacts.yml

.PHONY: artifacts-update
artifacts-update: venv ## resolve a product again and rewrite its lock: PRODUCT=hive
	@[ -n "$(PRODUCT)" ] || { echo "Which product? make artifacts-update PRODUCT=hive" >&2; exit 2; }
	$(PLAY) playbooks/artifacts_update.yml -e artifacts_update_product=$(PRODUCT)

# A shell's function: part NAME TARGET.. makes targets, and says how long that took; .ci/run lists these lines.
PART = part() { local name=$$1 began=$$SECONDS; shift; $(MAKE) --no-print-directory "$$@" && echo "$$name took $$((SECONDS - began)) s"; }

.PHONY: test
test: venv ## everything that CI checks: lint, unit, integration, molecule default, consistency, tenancy and ha
	@$(PART); for stage in test-tools $(if $(BESIDE),lint-quick unit lanes,lint unit integration $(SCENARIOS:%="molecule SCENARIO=%")); do \
		part "make $$stage" $$stage || exit; \
	done

# Three lanes, each of which waits half of its time: the scenario `default`; `consistency`, then `tenancy`; what needs no lab, then `ha`.
# The image first: all would make it. `ha` measures how long a query waits for a lost host on a machine without other work: the other
# two hold a lock until they have ended. What needs no lab leaves the processors to the labs, whose services have to be back in time.
.PHONY: lanes
lanes: venv
	@mkdir -p build
	@$(MAKE) --no-print-directory molecule-create SCENARIO=default
	@$(PART); code=0; exec 9>build/quiet.lock && flock --shared 9; \
		{ nice -n 19 $(MAKE) --no-print-directory lint-ansible && part "make integration" integration NICE='nice -n 10' && \
			part "scenario ha" molecule SCENARIO=ha; } 9>&- >build/lane-3.log 2>&1 & third=$$!; \
		{ part "scenario consistency" molecule SCENARIO=consistency && part "scenario tenancy" molecule SCENARIO=tenancy; } \
			9>&- >build/lane-2.log 2>&1 & second=$$!; \
		part "scenario default" molecule SCENARIO=default 9>&- || code=$$?; \
		wait $$second || code=$$?; exec 9>&-; wait $$third || code=$$?; \
		for lane in 2 3; do echo "=== build/lane-$$lane.log"; cat build/lane-$$lane.log; done; exit $$code

.PHONY: test-tools
test-tools: venv ## what the tests take from the operating system, and the products that they start
	$(PLAY) $(SUDO_ASK) playbooks/controller.yml -e controller_tests=true
	$(BIN)/hopshive artifacts build

.PHONY: lint
lint: lint-quick lint-ansible ## ruff, mypy --strict, yamllint, ansible-lint, shell syntax; all offline

.PHONY: lint-quick
lint-quick: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/yamllint --strict $(YAML_TREES)
	bash -n .ci/run
	sh -n requirements/venv.sh

.PHONY: lint-ansible
lint-ansible: venv
	$(BIN)/ansible-lint --offline --strict

.PHONY: unit
unit: $(ANSWERS_READY) ## unit tests (under two minutes), or one of them: TESTS=path::name
	$(BIN)/pytest $(or $(TESTS),-n 3 --dist worksteal tests/unit)

.PHONY: integration
integration: venv ## tests that run playbooks, daemons, and the JVMs of Hive and Hadoop, or one of them: TESTS=path::name
	$(NICE) $(BIN)/pytest $(or $(TESTS),-n 2 --dist loadfile tests/integration)

# What passes on NDB as on MariaDB; HOPSHIVE_NDB_TARBALL names the tarball of NDB Cluster.
.PHONY: ndb
ndb: venv ## tests of schema, journal, mirror, garbage, backup and binary log on a real NDB Cluster (HOPSHIVE_NDB_TARBALL)
	@[ -n "$(HOPSHIVE_NDB_TARBALL)" ] || { echo "Which tarball? make ndb HOPSHIVE_NDB_TARBALL=/path/to/mysql-cluster-....tar.gz (docs/ndb.md)" >&2; exit 2; }
	@[ -f "$(HOPSHIVE_NDB_TARBALL)" ] || { echo "HOPSHIVE_NDB_TARBALL: $(HOPSHIVE_NDB_TARBALL) is not there" >&2; exit 2; }
	$(BIN)/pytest tests/ndb_cluster
	TEST_DATABASE=ndb $(BIN)/pytest $(addprefix tests/unit/,metastore daemon/test_lease.py $(addprefix consistency/,\
		journal/test_record.py journal/test_removal.py journal/test_restore.py \
		$(addprefix mirror/test_,mirror.py places.py kept.py interruptions.py pace.py) drops garbage/test_collector.py garbage/test_named.py) \
		tenancy/test_members.py $(addprefix tenancy/login/,test_service.py test_commands.py))

.PHONY: keycloak
keycloak: venv ## tokens of a real Keycloak at the login service (HOPSHIVE_KEYCLOAK_ZIP)
	@[ -n "$(HOPSHIVE_KEYCLOAK_ZIP)" ] || { echo "Which archive? make keycloak HOPSHIVE_KEYCLOAK_ZIP=/path/to/keycloak-26.7.4.zip (docs/development.md)" >&2; exit 2; }
	@[ -f "$(HOPSHIVE_KEYCLOAK_ZIP)" ] || { echo "HOPSHIVE_KEYCLOAK_ZIP: $(HOPSHIVE_KEYCLOAK_ZIP) is not there" >&2; exit 2; }
	$(BIN)/pytest tests/identity_provider

# Molecule's own place for its state is one for all trees whose directory has the same name. Molecule finds the base of the
# scenarios by itself only in a clone of git; elsewhere it would silently run its own default steps.
RUN_MOLECULE = MOLECULE_EPHEMERAL_DIRECTORY=$(CURDIR)/build/molecule/$(SCENARIO) $(BIN)/molecule \
	--base-config $(CURDIR)/.config/molecule/config.yml
# Refuses a scenario that is not there, with those that are.
HAS_SCENARIO = [ -f molecule/$(SCENARIO)/molecule.yml ] || { echo "SCENARIO=$(SCENARIO) is not there: molecule/ has \
$(notdir $(patsubst %/molecule.yml,%,$(wildcard molecule/*/molecule.yml)))" >&2; exit 2; }
.PHONY: molecule
molecule: venv ## one molecule scenario from create to destroy: SCENARIO=default
	@$(HAS_SCENARIO)
	@mkdir -p build/molecule/$(SCENARIO) && rm -f build/molecule-$(SCENARIO).log
	$(RUN_MOLECULE) test --no-command-borders --destroy $(MOLECULE_DESTROY:passed=never) --scenario-name $(SCENARIO)
	$(if $(filter passed,$(MOLECULE_DESTROY)),$(RUN_MOLECULE) destroy --no-command-borders --scenario-name $(SCENARIO))

.PHONY: molecule-create molecule-converge molecule-verify molecule-destroy
molecule-create: ## make the hosts of a scenario and nothing on them, to try roles: SCENARIO=consistency
molecule-destroy: ## remove the hosts of a scenario: SCENARIO=consistency
molecule-create molecule-converge molecule-verify molecule-destroy: molecule-%: venv
	@$(HAS_SCENARIO)
	@mkdir -p build/molecule/$(SCENARIO)
	$(RUN_MOLECULE) $* --no-command-borders --scenario-name $(SCENARIO)

.PHONY: fuzz
fuzz: venv ## random steps against a running warehouse and a model: SEED=7 STEPS=200 LABEL=lab
	$(BIN)/python -m tests.fuzz $(if $(SEED),--seed $(SEED)) --steps $(STEPS) --label $(LABEL) $(ARGS)

.PHONY: answers
answers: $(ANSWERS_READY) ## TPC-DS and random SELECTs on a running warehouse against DuckDB: SEED=7 COUNT=200 LABEL=lab ARGS="--only tpcds"
	$(BIN)/python -m tests.answers $(addprefix --seed ,$(SEED)) --count $(COUNT) --label $(LABEL) $(ARGS)

.PHONY: faults
faults: venv ## break a running lab in each way, with clients at work: LABEL=ha ARGS="--only frozen"
	$(BIN)/python -m tests.faults --label $(if $(filter file,$(origin LABEL)),ha,$(LABEL)) $(ARGS)

.PHONY: attack
attack: venv ## try to get around logins and permissions of a running lab: LABEL=tenancy ARGS="--quick"
	$(BIN)/python -m tests.attack --label $(if $(filter file,$(origin LABEL)),tenancy,$(LABEL)) $(ARGS)

.PHONY: bench-deploy
bench-deploy: venv ## time a deployment: empty cache, warm cache, nothing to do
	$(BIN)/python -m tests.bench.deploy

.PHONY: bench-tenancy
bench-tenancy: venv ## what logins, projects and TLS cost, beside a running lab_tenancy: LABEL=tenancy ARGS="--only results --docs"
	$(BIN)/python -m tests.bench.tenancy --label $(if $(filter file,$(origin LABEL)),tenancy,$(LABEL)) $(ARGS)

.PHONY: bench-consistency
bench-consistency: venv ## measure how the metastore follows the file system (ARGS="--only restore --scale 0.1")
	$(BIN)/python -m tests.bench.consistency $(ARGS)

.PHONY: bench-database
bench-database: $(BENCH_READY) ## MariaDB and NDB compared: plans of TPC-DS, metastore calls (HOPSHIVE_NDB_TARBALL)
	$(BIN)/python -m tests.bench.database $(ARGS)

.PHONY: bench-answers
bench-answers: $(ANSWERS_READY) ## what the settings for right answers cost on TPC-DS, beside a running lab: LABEL=lab ARGS="--docs"
	$(BIN)/python -m tests.answers.cost --label $(LABEL) $(ARGS)

.PHONY: docs
docs: venv ## write the generated parts of docs/ again
	$(BIN)/python -m tools.variables_doc
	$(BIN)/python -m tools.readme_picture

# Both have the version of pyproject.toml in their names.
.PHONY: collection
collection: venv ## build the collection hopshive.warehouse: build/hopshive-warehouse-<version>.tar.gz
	$(BIN)/python -m tools.collection

.PHONY: wheel
wheel: venv ## build the wheel of src/hopshive, the one that the hosts get: build/hopshive-<version>-py3-none-any.whl
	$(BIN)/python -m tools.wheel

.PHONY: venv
venv: $(VENV_READY) ## make or refresh .venv from requirements/dev.txt

$(VENV_READY):
	@requirements/venv.sh $(VENV) $@

$(BENCH_READY): $(VENV_READY)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/bench.txt
	@touch $@

$(ANSWERS_READY): $(VENV_READY)
	$(BIN)/pip install --quiet --disable-pip-version-check --require-hashes -r requirements/answers.txt
	@touch $@

.PHONY: lock
lock: venv ## write requirements/dev.txt again from dev.in and pyproject.toml, bench.txt and answers.txt from bench.in and answers.in
	$(COMPILE) --output-file requirements/dev.txt --extra login pyproject.toml requirements/dev.in
	$(COMPILE) --constraints requirements/dev.txt --output-file requirements/bench.txt requirements/bench.in
	$(COMPILE) --constraints requirements/dev.txt --output-file requirements/answers.txt requirements/answers.in
