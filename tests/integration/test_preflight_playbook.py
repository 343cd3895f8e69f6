"""The role preflight, run for real against inventories that cannot work: it stops before anything changes."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.small_site import PASSWORD, VARIABLES, groups

ROOT = Path(__file__).parents[2]
PLAYBOOK = """\
- name: Preflight
  hosts: hopshive
  gather_facts: false
  any_errors_fatal: true
  roles:
    - role: preflight
- name: Change something
  hosts: hopshive
  gather_facts: false
  tasks:
    - name: Leave a mark
      ansible.builtin.file:
        path: "{{ playbook_dir }}/changed"
        state: touch
        mode: "0600"
"""


class Site:
    """A small inventory on this machine, and the playbook that would change it."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.inventory = "hosts.yml"
        self.variables: dict[str, Any] = dict(VARIABLES)
        self.groups = groups()

    def run(self, *arguments: str, playbook: str = "site.yml") -> tuple[bool, str]:
        """Whether the playbook came to its change, and what it printed."""
        inventory = {"hopshive": {"children": self.groups, "vars": self.variables}}
        (self.directory / "hosts.yml").write_text(yaml.safe_dump(inventory))
        (self.directory / "site.yml").write_text(PLAYBOOK)
        done = subprocess.run(
            [Path(sys.executable).with_name("ansible-playbook"), "-i", self.inventory, playbook, *arguments],
            cwd=self.directory,
            env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_FORCE_COLOR": "0"},
            capture_output=True,
            text=True,
            check=False,
        )
        changed = (self.directory / "changed").exists()
        assert (done.returncode == 0) is changed, done.stdout + done.stderr
        return changed, done.stdout + done.stderr

    def fill(self, vault: dict[str, str]) -> None:
        """Put a vault into the example for production."""
        (self.directory / "prod/group_vars/all/vault.yml").write_text(yaml.safe_dump(vault))


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_an_even_quorum_and_a_typo_stop_the_run_together(site: Site) -> None:
    site.groups["zookeeper"] = {"hosts": {"one": {}, "two": {}}}
    site.variables["cluster_metastor_port"] = 9083
    changed, output = site.run()
    assert not changed
    assert "Preflight found 2 problems in the inventory; no host was changed." in output
    assert "1. The group zookeeper has 2 hosts (one, two)" in output
    assert "2. The variable cluster_metastor_port is unknown: did you mean cluster_metastore_port?" in output


def test_two_hosts_with_one_id_stop_the_run(site: Site) -> None:
    # By its place worker2 is number 2.
    site.groups["zookeeper"] = {"hosts": {"worker1": {"zookeeper_id": 2}, "worker2": {}, "worker3": {}}}
    changed, output = site.run()
    assert not changed
    assert "zookeeper_id is 2 for worker1, worker2: give each host of the group zookeeper its own" in output


def test_a_missing_password_stops_the_run_and_names_its_vault(site: Site) -> None:
    del site.variables["cluster_metastore_database_password"]
    changed, output = site.run()
    assert not changed
    assert "cluster_metastore_database_password is not set: put one of your own into" in output
    assert "group_vars/all/vault.yml" in output


def test_a_vault_that_is_not_there_stops_the_run(site: Site) -> None:
    site.variables["cluster_metastore_database_password"] = "{{ vault_password }}"
    changed, output = site.run()
    assert not changed
    assert "cluster_metastore_database_password cannot be computed ('vault_password' is undefined)" in output


def test_a_default_password_stops_the_run_and_is_not_printed(site: Site) -> None:
    site.variables["cluster_metastore_database_password"] = "changeme-0815-4711"
    changed, output = site.run("-vvv")
    assert not changed
    assert "is a word from the examples" in output
    assert "0815" not in output


def test_an_unknown_component_group_stops_the_run(site: Site) -> None:
    site.groups["metastores"] = {"hosts": {"one": {}}}
    changed, output = site.run()
    assert not changed
    assert "The group metastores below hopshive is not a component: did you mean metastore?" in output


def test_a_computed_value_is_judged_as_the_roles_get_it(site: Site) -> None:
    # From a default of the role cluster, which the inventory alone does not know.
    site.variables["cluster_server2_http_port"] = "{{ cluster_server2_port }}"
    changed, output = site.run()
    assert not changed
    assert "cluster_server2_port and cluster_server2_http_port are both 10000 on host one" in output


def test_what_all_must_know_and_one_host_has_stops_the_run(site: Site) -> None:
    site.groups["datanode"] = {"hosts": {"one": {"cluster_namenode_rpc_port": 8021}, "two": {}}}
    changed, output = site.run("--limit", "one")
    assert not changed
    assert "cluster_namenode_rpc_port is 8021 for one; 8020 for two: all hosts need the same value" in output


def test_a_taken_port_stops_the_run_and_names_process_and_variable(site: Site) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        site.variables["cluster_metastore_port"] = port
        changed, output = site.run()
    assert not changed
    assert f"The port {port} of the metastore on host one is taken by process " in output
    assert f"(pid {os.getpid()}" in output
    assert "set cluster_metastore_port to a free port, or stop that process" in output


def test_the_limit_leaves_the_checks_of_the_whole_inventory(site: Site) -> None:
    site.groups["datanode"] = {"hosts": {"one": {}, "two": {"cluster_datanode_port": 1}}}
    changed, output = site.run("--limit", "one")
    assert not changed
    assert "cluster_datanode_port is 1: it must be a port from 1024 to 65535" in output
    assert "host two" in output


def test_the_host_checks_ask_only_the_hosts_of_the_limit(site: Site) -> None:
    site.groups["datanode"] = {"hosts": {"one": {}, "two": {"ansible_connection": "ssh", "ansible_host": "192.0.2.1"}}}
    site.variables["cluster_data_dir"] = str(site.directory)
    site.variables["preflight_disk_mb"] = 10**9
    changed, output = site.run("--limit", "one")
    assert not changed
    assert "The host one has " in output
    assert "fewer than preflight_disk_mb (1000000000)" in output
    assert "unreachable=0" in output


def test_defaults_of_other_roles_are_judged_with_what_the_inventory_sets(site: Site) -> None:
    # Two sessions for the one queue of the role's defaults, of 1024 MiB each by those of the role cluster.
    site.groups["server2"]["vars"] = {"server2_tez_sessions_per_queue": "{{ 1 + 1 }}"}
    site.groups["server2"]["hosts"] = {"two": {}}
    changed, output = site.run()
    assert not changed
    assert "hold 2048 MiB of application masters" in output
    assert "two: 2 x 1 x 1024" in output


def test_a_host_is_asked_for_python_names_and_users(site: Site) -> None:
    site.variables["cluster_manage_users"] = False
    site.variables["cluster_users"] = {"no-such-user": {"uid": 1}}
    site.variables["cluster_address"] = "one.invalid"
    site.variables["artifacts_python_interpreter"] = "/no/such/python3.11"
    changed, output = site.run()
    assert not changed
    assert "on the hosts; no host was changed" in output
    assert "artifacts_python_interpreter (/no/such/python3.11) does not exist on host one" in output
    assert "The host one cannot resolve one.invalid" in output
    assert "The host one lacks the user no-such-user, the group no-such-user, the group hadoop" in output


def test_a_misspelt_variable_of_any_role_stops_the_run(site: Site) -> None:
    site.groups["server2"]["vars"] = {"server2_tez_session_per_queue": 2}
    changed, output = site.run()
    assert not changed
    assert (
        "server2_tez_session_per_queue is unknown: did you mean server2_tez_sessions_per_queue? (set for host one)"
        in output
    )


def test_a_variable_of_the_sites_own_passes_when_it_is_named(site: Site) -> None:
    site.variables |= {"spark_team": "x", "preflight_own_variables": ["spark_te*"]}
    assert "spark_team" not in site.run()[1]
    site.variables["preflight_own_variables"] = []
    assert "The variable spark_team is unknown" in site.run()[1]


@pytest.mark.parametrize(
    ("variable", "value", "sentence"),
    [
        ("cleaner_rename_policy", "move", "value of cleaner_rename_policy must be one of: delete, follow, report, got: move"),
        ("cleaner_grace", -5, "cleaner_grace cannot be used (mirror.grace must not be negative; it is -5)"),
        ("cleaner_max_removals", 0, "cleaner_max_removals cannot be used (mirror.max_removals must be 1 or more; it is 0)"),
        ("cleaner_config_extra", {"mirror": {"btach": 1}}, "unknown setting mirror.btach: did you mean mirror.batch?"),
        ("cleaner_config_extra", {"mirror": {"grace": -1}}, "cleaner_config_extra cannot be used (mirror.grace must not be"),
        ("cleaner_config_extra", {"cleaner": {"rate": 5}}, "cannot be used (the section cleaner is called garbage now"),
        ("server2_tez_queues", "{{ no_such_variable }}", "server2_tez_queues cannot be computed"),
    ],
)  # fmt: skip
def test_a_value_that_a_role_or_its_daemon_refuses_stops_the_run(
    site: Site, variable: str, value: Any, sentence: str
) -> None:
    site.variables[variable] = value
    changed, output = site.run()
    assert not changed
    assert "Preflight found a problem in the inventory; no host was changed." in output
    assert sentence in output


def test_all_values_that_a_service_would_refuse_are_named_at_once(site: Site) -> None:
    site.variables |= {
        "cleaner_grace": -5,
        "cleaner_max_removals": 0,
        "cleaner_lease": "ten",
        "server2_drain_timeout": -1,
        "cluster_data_dir": "relative",
        "metastore_hive_site_extra": {"hive.x": [1, 2]},
    }
    changed, output = site.run()
    assert not changed
    assert "Preflight found 6 problems in the inventory; no host was changed." in output
    assert "cleaner_grace cannot be used (mirror.grace must not be negative; it is -5)" in output
    assert "cleaner_max_removals cannot be used" in output
    assert "cleaner_lease is 'ten': it must be a number" in output
    assert "server2_drain_timeout is -1: it must be 0 or more" in output
    assert "cluster_data_dir is 'relative': it must be an absolute path below /" in output
    assert "metastore_hive_site_extra: hive.x is a list: a setting has one value" in output


def test_variables_of_a_misspelt_group_or_host_stop_the_run(site: Site) -> None:
    for name in ("group_vars/sever2.yml", "group_vars/server2/main.yml", "host_vars/oen.yaml"):
        path = site.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("server2_drain_timeout: 5\n")
    changed, output = site.run()
    assert not changed
    assert "Preflight found 2 problems in the inventory" in output
    assert "has variables for sever2, but the inventory has no group of that name" in output
    assert "did you mean server2?" in output
    assert "did you mean one?" in output


@pytest.mark.parametrize("option", ["--tags", "--skip-tags"])
def test_a_misspelt_tag_stops_the_run(site: Site, option: str) -> None:
    changed, output = site.run(option, "prefligth", playbook=str(ROOT / "site.yml"))
    assert not changed
    assert "no host was changed" in output
    assert f"{option} prefligth: no task has this tag; did you mean preflight?" in output


def test_a_playbook_of_the_site_has_tags_of_its_own(site: Site) -> None:
    _, output = site.run("--skip-tags", "mine")
    assert "no task has this tag" not in output
    assert "Preflight found a problem on the hosts" in output


def test_hosts_that_are_one_machine_stop_the_run(site: Site) -> None:
    site.variables["ansible_connection"] = "ssh"
    site.groups["datanode"] = {"hosts": {name: {"ansible_host": "192.0.2.1"} for name in ("two", "three")}}
    changed, output = site.run()
    assert not changed
    assert "ansible_host is 192.0.2.1 for three, two: each host of the inventory is a machine of its own" in output


def test_a_database_without_its_groups_is_no_fault_of_the_cleaner(site: Site) -> None:
    site.variables["metastore_database"] = "ndb"
    changed, output = site.run()
    assert not changed
    assert "The group ndb_sql has no host, but metastore_database is ndb" in output
    assert "cleaner_config_extra" not in output


def test_a_host_without_python_is_one_line(site: Site) -> None:
    site.groups["datanode"] = {"hosts": {"one": {}, "two": {"ansible_python_interpreter": "/no/such/python"}}}
    changed, output = site.run()
    assert not changed
    assert [line for line in output.splitlines() if "The host two cannot be asked (" in line]
    assert "deserialization" not in output


def test_a_host_that_is_not_there_is_one_line(site: Site) -> None:
    # What ssh says and how it ends, on machines with no such address and on those without ssh.
    ssh = site.directory / "ssh"
    ssh.write_text("#!/bin/sh\necho 'ssh: connect to host 192.0.2.1 port 22: Connection timed out' >&2\nexit 255\n")
    ssh.chmod(0o755)
    away = {"ansible_connection": "ssh", "ansible_host": "192.0.2.1", "ansible_ssh_executable": str(ssh)}
    site.groups["datanode"] = {"hosts": {"one": {}, "two": away}}
    changed, output = site.run()
    assert not changed
    lines = [line for line in output.splitlines() if "The host two cannot be asked (" in line]
    assert lines
    assert all("Connection timed out" in line for line in lines)
    assert "deserialization" not in output


# The secrets that inventories/prod takes from its vault, and what each may be.
VAULT = [
    "vault_metastore_database_password",
    "vault_cleaner_db_password",
    "vault_login_db_password",
    "vault_tls_authority_passphrase",
    "vault_login_sealing_key",
    "vault_server2_check_password",
    "vault_gateway_secret",
    "vault_login_ldap_password",
]
SECRET = f"{PASSWORD}, and more of it"
INVENTORIES = [*ROOT.glob("inventories/*/hosts.yml"), *ROOT.glob("molecule/*/inventory/hosts.yml")]


@pytest.mark.parametrize("inventory", sorted(str(path.parent) for path in INVENTORIES))
def test_every_inventory_of_the_repository_passes(site: Site, inventory: str) -> None:
    (site.directory / "check.yml").write_text(
        "- hosts: hopshive\n  gather_facts: false\n  tasks:\n    - ansible.builtin.import_role:\n"
        "        name: preflight\n        tasks_from: inventory.yml\n"
    )
    # What lies beside an inventory and not in the repository.
    given: dict[str, Any] = dict.fromkeys(VAULT, SECRET)
    if not Path(inventory, "group_vars").exists():
        # The scenario links those of another one.
        given |= {name: VARIABLES[name] for name in VARIABLES if name.startswith("cluster_") and "password" in name}
        given |= {"cluster_without": ["login", "tls"]}
    done = subprocess.run(
        [Path(sys.executable).with_name("ansible-playbook"), "-i", inventory, "check.yml", "-e", json.dumps(given)],
        cwd=site.directory,
        env={
            **os.environ,
            "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"),
            "HOPSHIVE_NDB_TARBALL": "/ndb.tar.gz",
            "HOPSHIVE_NDB_SHA256": "0" * 64,
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def production(site: Site) -> Site:
    """The example for production as it is in the repository, without a vault."""
    shutil.copytree(ROOT / "inventories/prod", site.directory / "prod", ignore=shutil.ignore_patterns("vault.yml"))
    site.inventory = "prod"
    return site


def test_the_example_for_production_lacks_nothing_but_its_secrets(production: Site) -> None:
    changed, output = production.run()
    assert not changed
    lacking = {
        "cluster_metastore_database_password",
        "cluster_cleaner_db_password",
        "cluster_login_db_password",
        "cluster_gateway_secret",
        "cluster_tls_authority_passphrase",
        "login_ldap_password",
        "login_sealing_key",
        "server2_check_password",
    }
    numbered = [line.strip().partition(". ")[2] for line in output.splitlines() if re.match(r" +\d+\. ", line)]
    assert all("cannot be computed" in line for line in numbered), numbered
    assert {line.split()[0] for line in numbered} == lacking
    assert "put one of your own into prod/group_vars/all/vault.yml" in output


def test_the_examples_vault_has_every_secret_and_none_that_is_taken(production: Site) -> None:
    example = yaml.safe_load((production.directory / "prod/group_vars/all/vault.yml.example").read_text())
    assert sorted(example) == sorted(VAULT)
    production.fill(example)
    changed, output = production.run()
    assert not changed
    named = {
        "cluster_metastore_database_password",
        "cluster_cleaner_db_password",
        "cluster_login_db_password",
        "cluster_gateway_secret",
        "cluster_tls_authority_passphrase",
        "login_sealing_key",
        "server2_check_password",
    }
    assert named == set(re.findall(r"\d+\. (\w+) is a word from the examples", output))


def test_the_example_for_production_with_its_secrets_reaches_its_hosts(production: Site) -> None:
    production.fill(dict.fromkeys(VAULT, SECRET))
    local = {"ansible_connection": "local", "ansible_become": False, "preflight_disk_mb": 10**9}
    changed, output = production.run("--limit", "worker1.example.com", "-e", json.dumps(local))
    assert not changed
    assert "Preflight found" in output
    assert "on the hosts; no host was changed" in output
    assert "in the inventory" not in output


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"server2_authentication": "none"}, "server2_authentication is none, so HiveServer2 believes every name"),
        ({"cluster_tls": "none"}, "cluster_tls is none, so passwords and rows go over the network in the clear"),
    ],
)
def test_production_is_opened_by_a_variable_that_says_so(
    production: Site, given: dict[str, Any], sentence: str
) -> None:
    production.fill(dict.fromkeys(VAULT, SECRET))
    # Gateways want the login: a site without it has none.
    path = production.directory / "prod/hosts.yml"
    hosts = yaml.safe_load(path.read_text())
    del hosts["hopshive"]["children"]["gateway"]
    path.write_text(yaml.safe_dump(hosts))
    local = {"ansible_connection": "local", "ansible_become": False, "preflight_disk_mb": 10**9, **given}
    said = []
    for without in ([], ["login", "tls"]):
        variables = json.dumps({**local, "cluster_without": without})
        said.append(production.run("--limit", "worker1.example.com", "-e", variables)[1])
    assert f"1. {sentence}" in said[0]
    assert "or, to keep it " in said[0]
    assert "in the inventory; no host was changed" in said[0]
    assert "on the hosts; no host was changed" in said[1]
