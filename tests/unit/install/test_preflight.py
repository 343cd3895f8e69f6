"""What preflight refuses: a test for each check, over plain values."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from hopshive.install.preflight.artifacts import tarball_fault
from hopshive.install.preflight.checks import check_inventory, check_tags
from hopshive.install.preflight.database import OPTIONAL, PASSWORDS, password_weakness
from hopshive.install.preflight.gateway import check_gateway
from hopshive.install.preflight.host import (
    Disk,
    HostInfo,
    Limits,
    Listener,
    User,
    check_hosts,
    host_info,
    questions,
)
from hopshive.install.preflight.inventory import HostVariables, Inventory
from hopshive.install.preflight.memory import memory_need
from hopshive.install.preflight.placement import IDS
from hopshive.install.preflight.problem import Problem, listed, merged, report
from hopshive.install.preflight.queues import Queue, called, leaf_queues
from hopshive.install.preflight.service_config import CLEANER, LOGIN, config_faults
from hopshive.install.preflight.variables import SERVICE_USERS
from hopshive.services.components import COMPONENTS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

GOOD_PASSWORD = "kXw2-unguessed-91"
# Long enough for what keys are made of.
SEALING = f"{GOOD_PASSWORD}-{GOOD_PASSWORD}"
# A login service that is elsewhere.
HAS_LOGIN = {"server2_authentication": "login", "server2_login_urls": ["https://login.example.com:9443"]}
PASSWORD = "cluster_metastore_database_password"
DEFAULTS: dict[str, Any] = {
    "cluster_java_home": "/usr/lib/jvm/java-17-openjdk-amd64",
    "cluster_prefix": "/opt/hopshive",
    "cluster_data_dir": "/var/lib/hopshive",
    "artifacts_python_version": "3.11",
    "artifacts_python_interpreter": "/usr/bin/python3",
    "cluster_manage_users": True,
    "cluster_job_users": ["spark"],
    "cluster_users": {"hdfs": {"uid": 1511}, "hive": {"uid": 1513}},
    "cluster_group": {"name": "hadoop", "gid": 1510},
    "cluster_warehouse_group": {"name": "warehouse", "gid": 1518},
    "cluster_metastore_database_user": "hive",
    "cluster_consistency": "present",
    "cluster_nameservice": "hopshive",
    "cluster_without": ["login", "tls"],
    "cluster_mariadb_buffer_pool_mb": 100,
    "cluster_metastore_heap_mb": 1000,
    "cluster_nodemanager_heap_mb": 200,
    "cluster_nodemanager_memory_mb": 4096,
    "cluster_container_min_mb": 256,
    "cluster_container_max_mb": 4096,
    "cluster_tez_am_mb": 512,
    "cluster_tez_container_mb": 1024,
    "cluster_mariadb_port": 3306,
    "cluster_metastore_port": 9083,
    "cluster_server2_port": 10000,
    "cluster_server2_http_port": 10002,
}
KINDS = {int: "int", str: "str", bool: "bool", list: "list", dict: "dict"}
TYPES = {
    **{name: KINDS[type(value)] for name, value in DEFAULTS.items()},
    **dict.fromkeys(PASSWORDS, "str"),
    "cluster_address": "str",
    "cluster_hive_administrators": "list",
}
PLACEMENT = {
    "mariadb": ("master",),
    "zookeeper": ("master",),
    "namenode": ("master",),
    "datanode": ("worker",),
    "resourcemanager": ("master",),
    "nodemanager": ("worker",),
    "metastore": ("master",),
    "cleaner": ("master",),
    "server2": ("edge",),
    "client": ("edge",),
}


def inventory(
    placement: Mapping[str, tuple[str, ...]] | None = None,
    given: Mapping[str, Mapping[str, Any]] | None = None,
    more_groups: Mapping[str, tuple[str, ...]] | None = None,
    broken: Mapping[str, str] | None = None,
) -> Inventory:
    """A lab's inventory with some groups placed otherwise; `given` is what is set for a host, or for `all`."""
    groups = {**PLACEMENT, **(placement or {})}
    beneath = {**groups, **(more_groups or {})}
    hosts = sorted({host for members in beneath.values() for host in members})
    variables = {}
    for host in hosts:
        own = {**dict.fromkeys(PASSWORDS, GOOD_PASSWORD), "server2_check_password": SEALING}
        own |= {**(given or {}).get("all", {}), **(given or {}).get(host, {})}
        own = {name: value for name, value in own.items() if value is not None and name not in (broken or {})}
        variables[host] = HostVariables({**DEFAULTS, "cluster_address": host, **own}, frozenset(own), broken or {})
    return Inventory({**beneath, "hopshive": tuple(hosts)}, tuple(beneath), variables)


def errors(checked: Inventory, **options: Any) -> list[str]:
    """What preflight says, without the warning about a login that stands in `cluster_without` too."""
    found = [problem.text for problem in check_inventory(checked, TYPES, **options)]
    return [text for text in found if not text.startswith("cluster_without names")]


def only_error(checked: Inventory, **options: Any) -> str:
    found = errors(checked, **options)
    assert len(found) == 1, found
    return found[0]


def test_a_good_inventory_has_no_problem() -> None:
    assert errors(inventory()) == []


def test_an_unknown_component_group_is_named_with_the_nearest() -> None:
    text = only_error(inventory(more_groups={"metastores": ("master",)}))
    assert "group metastores" in text
    assert "did you mean metastore?" in text


def test_an_unknown_group_like_no_component_lists_them() -> None:
    assert "ndb_sql, zookeeper, journalnode, namenode" in only_error(inventory(more_groups={"xyz": ("master",)}))


def test_without_the_root_group_nothing_else_is_asked_of_groups() -> None:
    assert "has no group hopshive" in only_error(Inventory({"all": ()}, (), {}))


@pytest.mark.parametrize("group", [name for name, component in COMPONENTS.items() if component.required])
def test_a_required_group_without_hosts_is_named(group: str) -> None:
    assert f"The group {group} has no host" in " ".join(errors(inventory({group: ()})))


def test_metadata_that_follow_need_a_cleaner() -> None:
    assert "The group cleaner has no host, but cluster_consistency is present" in only_error(inventory({"cleaner": ()}))
    assert errors(inventory({"cleaner": ()}, {"all": {"cluster_consistency": "absent"}})) == []


def test_a_client_is_not_required() -> None:
    assert errors(inventory({"client": ()})) == []


def test_a_host_in_no_component_group_is_named() -> None:
    placed = inventory(more_groups={"client": ("edge",)})
    lone = Inventory(
        {**placed.groups, "hopshive": (*placed.groups["hopshive"], "spare")},
        placed.components,
        {**placed.hosts, "spare": HostVariables(DEFAULTS)},
    )
    assert "The host spare is in no component group" in only_error(lone)


JOURNALS = {"journalnode": ("master", "worker", "edge")}
TWO_NAMENODES = {"namenode": ("master", "worker")}


def test_two_namenodes_need_journalnodes() -> None:
    assert "journalnode has none" in only_error(inventory(TWO_NAMENODES))
    assert errors(inventory({**TWO_NAMENODES, **JOURNALS})) == []


def test_one_journalnode_is_one_point_of_failure() -> None:
    assert "The group journalnode has one host (edge)" in only_error(
        inventory({**TWO_NAMENODES, "journalnode": ("edge",)})
    )


def test_two_journalnodes_are_no_better_than_one() -> None:
    text = only_error(inventory({**TWO_NAMENODES, "journalnode": ("edge", "worker")}))
    assert "The group journalnode has 2 hosts" in text


def test_journalnodes_without_a_second_namenode_are_refused() -> None:
    assert "but namenode has 1" in only_error(inventory(JOURNALS))


@pytest.mark.parametrize("name", ["a.b", "under_score", "-x", "", "a b"])
def test_a_name_service_that_is_no_host_name_is_refused(name: str) -> None:
    found = errors(inventory({**TWO_NAMENODES, **JOURNALS}, {"all": {"cluster_nameservice": name}}))
    assert any("cluster_nameservice is" in text for text in found)


def test_a_name_service_is_one_for_all() -> None:
    given = {"master": {"cluster_nameservice": "a"}, "worker": {"cluster_nameservice": "b"}}
    text = only_error(inventory({**TWO_NAMENODES, **JOURNALS}, given))
    assert "cluster_nameservice is hopshive for edge; a for master; b for worker: all hosts need the same value" in text


def test_two_resourcemanagers_are_welcome() -> None:
    assert errors(inventory({"resourcemanager": ("master", "edge")})) == []


@pytest.mark.parametrize(("group", "variable"), IDS.items())
def test_an_id_that_two_hosts_of_a_group_have_is_named(group: str, variable: str) -> None:
    hosts = ("master", "worker", "edge")
    found = errors(
        inventory({group: hosts}, {"master": {variable: "7"}, "worker": {variable: "7"}, "edge": {variable: "8"}})
    )
    assert any(f"{variable} is 7 for master, worker" in text for text in found)


def test_two_databases_are_refused() -> None:
    assert "mariadb has 2 hosts (edge, master)" in only_error(inventory({"mariadb": ("master", "edge")}))


@pytest.mark.parametrize(
    ("url", "good"),
    [("jdbc:mysql://db:3306/metastore", False), ("jdbc:mariadb://db/m", False), ("jdbc:mysql+strict://db/m", True)],
)
def test_a_database_of_ones_own_goes_by_the_driver_that_cuts_nothing(url: str, good: bool) -> None:
    extra = {"metastore_hive_site_extra": {"javax.jdo.option.ConnectionURL": url}}
    types = {**TYPES, "metastore_hive_site_extra": "dict"}
    found = [problem.text for problem in check_inventory(inventory(given={"master": extra}), types)]
    assert (found == []) is good
    kind = url.split(":")[1]
    assert good or f"metastore_hive_site_extra begins with jdbc:{kind}: for host master" in found[0]


@pytest.mark.parametrize(("hosts", "good"), [(1, True), (2, False), (3, True), (4, False), (5, True)])
def test_a_zookeeper_quorum_is_odd(hosts: int, good: bool) -> None:
    found = errors(inventory({"zookeeper": tuple(f"z{number}" for number in range(hosts))}))
    assert (found == []) is good
    assert good or f"The group zookeeper has {hosts} hosts" in found[0]


@pytest.mark.parametrize("password", PASSWORDS)
def test_a_missing_password_names_variable_and_vault(password: str) -> None:
    # Those of the login service are wanted where there is one.
    login = HAS_LOGIN if password == "server2_check_password" else {}
    placed = inventory(given={"all": {password: None, **login}})
    if password in OPTIONAL:
        placed = (with_gateway if OPTIONAL[password] == "gateway" else with_login)(**{password: None})
    text = only_error(placed)
    assert f"{password} is not set" in text
    assert "inventories/prod/group_vars/all/vault.yml (ansible-vault" in text


def test_a_password_that_cannot_be_computed_names_what_is_missing() -> None:
    text = only_error(inventory(broken={PASSWORD: "'vault_x' is undefined"}))
    assert f"{PASSWORD} cannot be computed ('vault_x' is undefined)" in text


@pytest.mark.parametrize(
    ("password", "why"),
    [
        ("changeme", "known to everyone"),
        ("ChangeMe123456!", "known to everyone"),
        ("hive", "name of its user"),
        ("Password_2024_2024", "known to everyone"),
        ("k2X-9fQ", "7 characters, fewer than 12"),
        ("aaaaaaaaaaaaaa", "repeats a few characters"),
    ],
)
def test_a_weak_password_is_refused_and_never_shown(password: str, why: str) -> None:
    text = only_error(inventory(given={"all": {PASSWORD: password}}))
    assert why in text
    # The user's name and common words are part of other words of the sentence.
    assert f"{PASSWORD} {password_weakness(password, 'hive')}" in text
    if len(password) > 8:
        assert password not in text


def test_a_password_that_is_the_users_name_is_refused() -> None:
    assert password_weakness("warehouse_owner_9", "Warehouse_Owner_9") == "is the name of its user"


@pytest.mark.parametrize("password", [GOOD_PASSWORD, "d41d8cd98f00b204e9800998ecf8427e", "correct horse battery"])
def test_a_password_of_ones_own_is_taken(password: str) -> None:
    assert password_weakness(password, "hive") == ""


def test_a_password_that_differs_between_hosts_is_refused() -> None:
    text = only_error(inventory(given={"edge": {PASSWORD: "another-of-its-own-7"}}))
    assert f"{PASSWORD} differs between the hosts of mariadb, metastore, ndb_sql, server2" in text
    assert "another-of-its-own-7" not in text


def test_a_management_node_beside_a_data_node_is_refused() -> None:
    nodes = {
        "mariadb": (),
        "ndb_management": ("worker",),
        "ndb_data": ("worker", "edge"),
        "ndb_sql": ("master", "edge"),
    }
    given = {"all": {"cluster_database": "ndb", "artifacts_tarballs": {"ndb": {}}}}
    said = "is in ndb_management and in ndb_data"
    assert [f"worker {said}" in text for text in errors(inventory(nodes, given))].count(True) == 1
    assert not any(said in text for text in errors(inventory({**nodes, "ndb_management": ("master",)}, given)))


def test_a_host_without_the_database_needs_no_password() -> None:
    assert errors(inventory(given={"worker": dict.fromkeys(PASSWORDS)})) == []


def test_two_variables_on_one_port_of_a_host_are_named() -> None:
    text = only_error(inventory(given={"all": {"cluster_server2_http_port": 10000}}))
    assert "cluster_server2_port and cluster_server2_http_port are both 10000 on host edge" in text


def test_one_port_on_two_hosts_is_no_conflict() -> None:
    assert errors(inventory(given={"all": {"cluster_server2_port": 9083}})) == []


def test_a_removed_variable_names_the_new_one() -> None:
    checked = inventory(given={"all": {"cluster_old_port": 1}})
    text = only_error(checked, renamed={"cluster_old_port": "cluster_metastore_port"})
    assert "cluster_old_port is now called cluster_metastore_port: rename it (set for all hosts)" in text


def test_a_variable_that_is_gone_is_to_be_removed() -> None:
    checked = inventory(given={"edge": {"hive_llap": True}})
    text = only_error(checked, renamed={"hive_llap": None})
    assert "hive_llap no longer exists: remove it (set for host edge)" in text


def test_an_unknown_variable_is_named_with_the_nearest() -> None:
    text = only_error(inventory(given={"all": {"cluster_metastor_port": 9083}}))
    assert "cluster_metastor_port is unknown: did you mean cluster_metastore_port?" in text


def test_variables_of_others_are_not_judged() -> None:
    assert errors(inventory(given={"all": {"site_name": "x", "clusters": 1}})) == []


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("cluster_metastore_port", "abc", "a port from 1024 to 65535"),
        ("cluster_metastore_port", 80, "a port from 1024 to 65535"),
        ("cluster_metastore_port", 70000, "a port from 1024 to 65535"),
        ("cluster_metastore_port", True, "a port from 1024 to 65535"),
        ("cluster_metastore_heap_mb", "2g", "a whole number of MiB"),
        ("cluster_metastore_heap_mb", 0, "a whole number of MiB, 64 or more"),
        ("cluster_metastore_heap_mb", 16, "a whole number of MiB, 64 or more"),
        ("cluster_nodemanager_memory_mb", 0, "a whole number of MiB, 1 or more"),
        ("cluster_metastore_heap_mb", 1.5, "a whole number of MiB"),
        ("cluster_manage_users", "perhaps", "true or false"),
        ("cluster_job_users", "spark", "a list"),
        ("cluster_users", ["hdfs"], "a mapping"),
        ("cluster_java_home", {"a": 1}, "a text"),
    ],
)
def test_a_value_of_the_wrong_type_is_named(name: str, value: object, wanted: str) -> None:
    found = errors(inventory(given={"all": {name: value}}))
    assert f"{name} is {value!r}: it must be {wanted}" in found[0]


@pytest.mark.parametrize(
    ("name", "kind", "value", "wanted"),
    [
        ("server2_drain_timeout", "int", -1, "0 or more"),
        ("server2_tez_sessions_per_queue", "int", 0, "1 or more"),
        ("zookeeper_id", "int", 256, "a number from 1 to 255"),
        ("preflight_memory_ratio", "float", -1, "0.01 or more"),
        ("cleaner_lease", "float", float("inf"), "0 or more"),
        ("cluster_data_dir", "path", "relative/path", "an absolute path below /"),
        ("cluster_data_dir", "path", "/", "an absolute path below /"),
        ("cluster_data_dir", "path", "/srv/../etc", "an absolute path below /"),
        ("namenode_directories", "list", [], "at least one"),
        ("namenode_directories", "list", ["/a", "b"], "'b' must be an absolute path"),
        ("cluster_name", "str", "a b", "letters, digits, dots"),
        ("cluster_name", "str", "", "letters, digits, dots"),
        ("cluster_address", "str", "", "a host name or an address"),
        ("cluster_metastore_database", "str", "my;db", "letters, digits"),
        ("cluster_inode_table", "str", "inodes", "a database and a table"),
        ("cluster_warehouse", "str", "warehouse", "a path that begins with /"),
        ("common_journal_max_use", "str", "lots", "a size such as 500M"),
        (
            "server2_hive_site_extra",
            "dict",
            {"hive.x": {"nested": 1}},
            "hive.x is a mapping: a setting has one value",
        ),
        ("cluster_core_site_extra", "dict", {"hadoop.x": [1, 2]}, "hadoop.x is a list: a setting has one value"),
    ],
)
def test_a_value_that_its_service_would_refuse_is_named(name: str, kind: str, value: object, wanted: str) -> None:
    checked = inventory(given={"all": {name: value}})
    found = [problem.text for problem in check_inventory(checked, {**TYPES, name: kind})]
    assert [text for text in found if text.startswith(name) and wanted in text], found


@pytest.mark.parametrize(
    ("name", "kind", "value"),
    [
        ("server2_drain_timeout", "int", 0),
        ("server2_drain_timeout", "int", "60"),
        ("cleaner_grace", "float", 0.5),
        ("zookeeper_id", "int", 255),
        ("cluster_data_dir", "path", "/srv/data-1"),
        ("artifacts_cache_dir", "path", "~/cache"),
        ("namenode_directories", "list", ["/data/1/name", "/data/2/name"]),
        ("cluster_name", "str", "site-1.test_2"),
        ("cluster_warehouse", "str", "s3a://bucket/warehouse"),
        ("cluster_warehouse", "str", "/user/hive/warehouse/"),
        ("common_journal_max_use", "str", "500M"),
        ("server2_hive_site_extra", "dict", {"hive.x": None, "hive.y": True, "hive.z": 1.5, "hive.w": "a,b"}),
    ],
)
def test_a_value_that_its_service_takes_is_taken(name: str, kind: str, value: object) -> None:
    checked = inventory(given={"all": {name: value}})
    assert not [problem for problem in check_inventory(checked, {**TYPES, name: kind}) if name in problem.text]


def test_what_others_must_know_is_set_for_all_hosts() -> None:
    assert errors(inventory(given={"all": {"cluster_metastore_port": 9084}})) == []
    assert only_error(inventory(given={"master": {"cluster_metastore_port": 9084}})) == (
        "cluster_metastore_port is 9083 for edge, worker; 9084 for master: all hosts need the same value, so set it once, in"
        " inventories/prod/group_vars/all/"
    )


def test_what_a_host_has_for_itself_may_differ() -> None:
    own = {
        "worker": {
            "cluster_nodemanager_memory_mb": 8192,
            "cluster_java_home": "/opt/jdk",
            "cluster_server2_port": 10001,
        }
    }
    assert errors(inventory(given=own)) == []


def test_a_variable_called_after_the_bundle_is_unknown() -> None:
    names = {"hopshive_metastore_port": 9084, "hopshive_version": 1}
    given = {"all": {**names, "preflight_own_variables": ["hopshive_version"]}}
    assert only_error(inventory(given=given), renamed={}) == (
        "The variable hopshive_metastore_port is unknown: did you mean cluster_metastore_port? (set for all hosts)"
    )


def test_settings_are_not_quoted_as_a_whole() -> None:
    given = {"all": {"server2_hive_site_extra": {"a.secret": "hidden", "b": [1]}}}
    found = check_inventory(inventory(given=given), {**TYPES, "server2_hive_site_extra": "dict"})
    assert found
    assert not [problem for problem in found if "hidden" in problem.text]


def test_variables_for_a_group_that_is_not_there_are_named_with_the_nearest() -> None:
    named = {"group_vars": ("all", "hopshive", "ndb_sql", "sever2"), "host_vars": ("master", "egde")}
    found = check_inventory(replace(inventory(), named=named), TYPES)
    assert [problem.text.rpartition(": ")[2] for problem in found] == [
        "did you mean server2?",
        "did you mean edge?",
    ]
    assert not [problem for problem in found if problem.warning]


def test_variables_for_a_group_that_is_like_no_other_are_a_warning() -> None:
    found = check_inventory(replace(inventory(), named={"group_vars": ("oslo",)}), TYPES)
    assert [problem.warning for problem in found] == [True]


def test_variables_for_a_host_that_left_are_a_warning() -> None:
    numbered = inventory({"datanode": ("worker1", "worker2"), "nodemanager": ("worker1", "worker2")})
    found = check_inventory(replace(numbered, named={"host_vars": ("worker3", "wroker1")}), TYPES)
    assert [problem.warning for problem in found if "has variables for" in problem.text] == [True, False]


def test_two_hosts_with_one_address_are_named() -> None:
    given = {"worker": {"cluster_address": "10.0.0.1"}, "master": {"cluster_address": "10.0.0.1"}}
    assert only_error(inventory(given=given)) == (
        "cluster_address is 10.0.0.1 for master, worker: give each host its own"
    )


def test_two_hosts_that_are_one_machine_are_named() -> None:
    checked = inventory(given={"worker": {"ansible_host": "10.0.0.1"}, "master": {"ansible_host": "10.0.0.1"}})
    assert "ansible_host is 10.0.0.1 for master, worker" in only_error(checked)


@pytest.mark.parametrize("other", [{"ansible_port": 2222}, {"ansible_connection": "local"}])
def test_two_hosts_behind_one_address_may_be_two_machines(other: dict[str, Any]) -> None:
    given = {"worker": {"ansible_host": "gate", **other}, "master": {"ansible_host": "gate"}}
    assert errors(inventory(given=given)) == []


def test_a_tag_that_no_task_has_is_named_with_the_nearest() -> None:
    known = ("always", "check", "metastore", "preflight")
    asked = {"--tags": ["prefligth", "check", "all"], "--skip-tags": ("zzz", "molecule-notest", "notest")}
    assert [problem.text for problem in check_tags(asked, known)] == [
        "--tags prefligth: no task has this tag; did you mean preflight?",
        "--skip-tags zzz: no task has this tag; known tags are check, metastore, preflight",
    ]


@pytest.mark.parametrize(
    ("tarballs", "sentence"),
    [
        ({"hvie": {"source": "x", "sha256": "0" * 64, "version": "4"}}, "no product hvie: did you mean hive?"),
        ({"hive": {"sorce": "x", "version": "4"}}, "hive lacks sha256, source"),
        ({"hive": {"source": "x", "sha256": "abc", "version": "4"}}, "hive.sha256 is not 64 hexadecimal digits"),
        ({"hive": "/hive.tar.gz"}, "hive must name source, sha256 and version"),
        ({"ndb": {"source": "x", "sha256": "0" * 64, "version": "8"}}, ""),
        ({}, ""),
        (None, ""),
    ],
)
def test_a_tarball_that_would_replace_nothing_is_named(tarballs: object, sentence: str) -> None:
    found = tarball_fault(tarballs, ["hadoop", "hive"])
    assert sentence in found
    assert bool(found) is bool(sentence)


def test_users_that_the_services_need_are_named() -> None:
    users = {name: {"uid": number} for number, name in enumerate(SERVICE_USERS, 2000)}
    kinds = {**TYPES, "cluster_users": "dict"}
    assert check_inventory(inventory(given={"all": {"cluster_users": users}}), kinds) == []
    wrong = {**users, "hive": {"uid": "abc"}}
    del wrong["yarn"]
    given = {"all": {"cluster_users": wrong, "cluster_manage_users": True}}
    assert [problem.text for problem in check_inventory(inventory(given=given), kinds)] == [
        "cluster_users lacks yarn (for all hosts): name all users in it",
        "cluster_users.hive.uid is 'abc': it must be a whole number (for all hosts)",
    ]


def test_users_that_others_make_may_be_some() -> None:
    given = {"all": {"cluster_users": {"hive": {}}, "cluster_manage_users": False}}
    assert check_inventory(inventory(given=given), {**TYPES, "cluster_users": "dict"}) == []


def test_an_executor_that_no_container_holds_is_named() -> None:
    edge = {"spark_executor_memory_mb": 4000}
    text = only_error(inventory(given={"edge": edge, "master": {"cluster_container_max_mb": 4096}}))
    assert "spark_executor_memory_mb is 4000 on host edge, 4400 MiB with its overhead" in text
    own = {**edge, "spark_defaults_extra": {"spark.executor.memoryOverhead": "100m"}}
    assert errors(inventory(given={"edge": own, "master": {"cluster_container_max_mb": 4096}})) == []


def test_a_queue_of_spark_that_yarn_does_not_have_is_named() -> None:
    edge = {"spark_defaults_extra": {"spark.yarn.queue": "jobs"}}
    found = errors(with_queues(edge))
    assert len(found) == 1
    assert "spark_defaults_extra names the queue 'jobs' for host edge, but resourcemanager_queues has" in found[0]


CLEANER_CONFIG = {
    "lease": 10,
    "hdfs": {"uris": ["hdfs://nn:8020"], "namenodes": ["nn:8020"]},
    "mirror": {"grace": 2, "max_removals": 10},
}
CLEANER_TEMPLATES = {
    "lease": "{{ cleaner_lease }}",
    "mirror": {"grace": "{{ cleaner_grace }}", "max_removals": "{{ cleaner_max_removals }}"},
}


def test_all_that_the_cleaner_would_refuse_is_named_at_once() -> None:
    extra = {"mirror": {"btach": 1}, "databse": {"port": 1}}
    content = {
        **CLEANER_CONFIG,
        "lease": 0,
        "mirror": {"grace": -5, "max_removals": 0, "btach": 1},
        "databse": {"port": 1},
    }
    assert config_faults(CLEANER, CLEANER_CONFIG, CLEANER_TEMPLATES, {}) == {}
    found = config_faults(CLEANER, content, CLEANER_TEMPLATES, extra)
    assert found.keys() == {"cleaner_lease", "cleaner_grace", "cleaner_max_removals", "cleaner_config_extra"}
    assert "unknown setting mirror.btach: did you mean mirror.batch?" in found["cleaner_config_extra"]
    assert "unknown setting databse: did you mean database?" in found["cleaner_config_extra"]
    assert found["cleaner_grace"] == "mirror.grace must not be negative; it is -5"


def test_a_setting_of_the_extra_ones_is_the_extra_ones_fault() -> None:
    content = {**CLEANER_CONFIG, "mirror": {"grace": -5}}
    assert config_faults(CLEANER, content, CLEANER_TEMPLATES, {"mirror": {"grace": -5}}).keys() == {
        "cleaner_config_extra"
    }


def test_a_section_s_old_name_is_the_extra_ones_fault() -> None:
    extra = {"cleaner": {"rate": 5}, "mirror": {"grace": -5}}
    found = config_faults(CLEANER, {**CLEANER_CONFIG, **extra}, CLEANER_TEMPLATES, {"cleaner": {"rate": 5}})
    assert found == {
        "cleaner_config_extra": "the section cleaner is called garbage now: rename the section",
        "cleaner_grace": "mirror.grace must not be negative; it is -5",
    }


LOGIN_CONFIG = {
    "listen": {"port": 9443, "certificate": "/c", "key": "/k"},
    "tokens": {"sealing_key_file": "/s", "lifetime": 900},
}
LOGIN_TEMPLATES = {
    "listen": {"port": "{{ cluster_login_port }}", "proxies": "{{ login_proxies }}"},
    "tokens": {"lifetime": "{{ login_token_lifetime }}"},
}


def test_all_that_the_login_service_would_refuse_is_named_at_once() -> None:
    assert config_faults(LOGIN, LOGIN_CONFIG, LOGIN_TEMPLATES, {}) == {}
    content = {
        "listen": {**LOGIN_CONFIG["listen"], "proxies": ["10.0.0.300"]},
        "tokens": {**LOGIN_CONFIG["tokens"], "lifetime": 100_000},
        "ldpa": {},
    }
    found = config_faults(LOGIN, content, LOGIN_TEMPLATES, {"ldpa": {}})
    assert found.pop("login_config_extra").startswith("unknown setting ldpa: did you mean ldap?")
    assert found == {
        "login_proxies": "listen.proxies: '10.0.0.300' is no address, no network and no host name",
        "login_token_lifetime": "tokens.lifetime is a day (86400) at most; it is 100000",
    }


PEOPLE = {"alice": {"account": "alice", "password": "$argon2id$"}}


def with_login(**given: Any) -> Inventory:
    users = {name: {"uid": 1} for name in (*SERVICE_USERS, "hopshive-login")}
    values = {"login_sealing_key": SEALING, "login_people": PEOPLE, "cluster_users": users, **given}
    return inventory({"login": ("edge",)}, {"all": values})


def test_a_login_service_has_what_it_needs() -> None:
    assert errors(with_login()) == []


def test_a_login_without_a_login_service_is_refused() -> None:
    text = only_error(inventory(given={"all": {"server2_authentication": "login"}}))
    assert text.startswith("server2_authentication is login, but the group login has no host (for host edge)")
    assert errors(inventory(given={"all": dict.fromkeys(("cluster_login_db_password", "login_sealing_key"))})) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"login_people": {}}, "login_people is empty, so no person could log in (for host edge)"),
        ({"cluster_consistency": "absent"}, "cluster_consistency is absent, but the login service keeps its tables"),
        (
            {"cluster_users": {name: {"uid": 1} for name in SERVICE_USERS}},
            "cluster_users lacks hopshive-login (for host edge)",
        ),
        ({"login_sealing_key": GOOD_PASSWORD}, "login_sealing_key has 17 characters, fewer than 32"),
        ({"login_sealing_key": None}, "login_sealing_key is not set"),
        ({"cluster_login_db_password": None}, "cluster_login_db_password is not set"),
    ],
)
def test_what_a_login_service_lacks_is_named(given: dict[str, Any], said: str) -> None:
    assert said in only_error(with_login(**given))


def test_the_user_of_the_login_service_is_wanted_where_there_is_one() -> None:
    users = {"cluster_users": {"hive": {"uid": 1513}, "hopshive-login": {"uid": 1519}}}
    assert questions(inventory(given={"all": users}), "edge")["users"] == {"hive": 1513}
    assert questions(with_login(**users), "edge")["users"] == {"hive": 1513, "hopshive-login": 1519}


def with_gateway(**given: Any) -> Inventory:
    users = {name: {"uid": 1} for name in (*SERVICE_USERS, "hopshive-login", "hopshive-gateway")}
    values = {
        "login_sealing_key": SEALING,
        "login_people": PEOPLE,
        "cluster_gateway_secret": SEALING,
        "cluster_users": users,
        **HAS_LOGIN,
    }
    return inventory({"login": given.pop("login", ("edge",)), "gateway": ("edge",)}, {"all": {**values, **given}})


def test_a_gateway_has_what_it_needs() -> None:
    assert errors(with_gateway()) == []


@pytest.mark.parametrize("spelled", [True, "yes", "on", 1, "1"])
def test_a_gateway_is_on_in_each_spelling(spelled: Any) -> None:
    assert "login has none" in only_error(with_gateway(login=(), gateway_service_enabled=spelled))


def test_a_gateway_that_is_switched_off_needs_nothing() -> None:
    assert errors(with_gateway(server2_authentication="none", gateway_service_enabled=False)) == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"login": ()}, "The group gateway has hosts (edge), but login has none"),
        ({"server2_authentication": "none"}, "server2_authentication is not login for host edge"),
        (
            {"cluster_users": {name: {"uid": 1} for name in (*SERVICE_USERS, "hopshive-login")}},
            "cluster_users lacks hopshive-gateway (for host edge)",
        ),
        ({"cluster_gateway_secret": GOOD_PASSWORD}, "cluster_gateway_secret has 17 characters, fewer than 32"),
        (
            {"gateway_revocation_list_source": "/nowhere/revoked.pem"},
            "gateway_revocation_list_source is /nowhere/revoked.pem, which is not on the controller (for host edge)",
        ),
    ],
)
def test_what_a_gateway_lacks_is_named(given: dict[str, Any], said: str) -> None:
    assert said in only_error(with_gateway(**given))


def gateway_errors(**given: Any) -> list[str]:
    return [problem.text for problem in check_gateway(with_gateway(**given))]


def test_the_authority_of_clients_that_the_run_makes_need_not_be_there(tmp_path: Path) -> None:
    made = {
        "cluster_tls": "bundle",
        "cluster_tls_authority_dir": str(tmp_path / "tls"),
        "gateway_client_authority_source": str(tmp_path / "tls/clients/authority.pem"),
        "gateway_revocation_list_source": str(tmp_path / "tls/clients/revoked.pem"),
    }
    assert gateway_errors(**made) == []
    # Without the bundle, the run makes none.
    assert [text.split()[0] for text in gateway_errors(**{**made, "cluster_tls": "none"})] == [
        "gateway_client_authority_source",
        "gateway_revocation_list_source",
    ]


def test_a_host_behind_a_gateway_has_a_name_in_its_certificate() -> None:
    (text,) = gateway_errors(login=("192.0.2.7",), cluster_tls="bundle")
    assert text.startswith("The certificate of host 192.0.2.7 has addresses alone")
    named = {"login": ("192.0.2.7",), "cluster_tls": "bundle", "cluster_tls_names": ["login.example.org"]}
    assert gateway_errors(**named) == []


def test_another_back_end_needs_no_people() -> None:
    assert errors(with_login(login_people={}, login_backend="ldap")) == []


SQL = {"server2_authorization": "sql", **HAS_LOGIN, "cluster_hive_administrators": ["ann"]}
RULE = "rules:\n- {name: all, tables: [a.b], refused: [c]}\n"


def test_a_policy_that_can_be_used_is_accepted(tmp_path: Path) -> None:
    file = tmp_path / "policy.yml"
    file.write_text(RULE)
    assert errors(inventory({"server2": ("edge",)}, {"all": SQL | {"server2_policy": str(file)}})) == []


@pytest.mark.parametrize(
    ("text", "given", "said"),
    [
        (RULE, {"cluster_hive_administrators": []}, "cluster_hive_administrators is empty, so no user could grant"),
        (RULE, {"server2_authentication": "none"}, "anyone could take the name and the privileges of another user"),
        (RULE, {"server2_authorization": "storage"}, "server2_policy names a policy, but nothing enforces it"),
        (RULE.replace("a.b", "b"), {}, "policy.yml: rule 1 (all): tables: 'b' is no database.table"),
        (RULE.replace("refused", "refuse"), {}, "refuse is unknown. Did you mean refused?"),
        (RULE, {"server2_policy": "/nowhere/policy.yml"}, "server2_policy: /nowhere/policy.yml cannot be read"),
    ],
)
def test_a_policy_that_cannot_be_used_is_named(tmp_path: Path, text: str, given: dict[str, Any], said: str) -> None:
    file = tmp_path / "policy.yml"
    file.write_text(text)
    values = SQL | {"server2_policy": str(file)} | given
    assert said in only_error(inventory({"server2": ("edge",)}, {"all": values}))


def test_a_number_in_quotes_is_a_number() -> None:
    assert errors(inventory(given={"all": {"cluster_metastore_port": "9084"}})) == []


def test_a_variable_that_cannot_be_computed_is_named() -> None:
    text = only_error(inventory(broken={"cluster_address": "'site' is undefined"}))
    assert "cluster_address cannot be computed ('site' is undefined)" in text


def test_a_tez_container_above_the_largest_container_is_refused() -> None:
    text = only_error(inventory(given={"all": {"cluster_tez_container_mb": 5000}}))
    assert "cluster_tez_container_mb is 5000 MiB on host edge" in text
    assert "cluster_container_max_mb, 4096 MiB" in text


def test_a_tez_application_master_above_the_largest_container_is_refused() -> None:
    assert "cluster_tez_am_mb is 5000" in only_error(inventory(given={"all": {"cluster_tez_am_mb": 5000}}))


def test_a_largest_container_that_fits_no_nodemanager_is_refused() -> None:
    text = only_error(inventory(given={"worker": {"cluster_nodemanager_memory_mb": 2048}}))
    assert "cluster_container_max_mb is 4096 MiB on master, but no NodeManager offers more than 2048 MiB" in text


def test_a_largest_container_may_fit_one_nodemanager_only() -> None:
    placed = {"nodemanager": ("worker", "small")}
    assert errors(inventory(placed, {"small": {"cluster_nodemanager_memory_mb": 1024}})) == []


def test_a_least_container_above_the_largest_is_refused() -> None:
    text = only_error(inventory(given={"all": {"cluster_container_min_mb": 8192}}))
    assert "cluster_container_min_mb (8192 MiB) is above cluster_container_max_mb (4096 MiB)" in text


def sessions(number: int, queues: tuple[str, ...] = ("default",)) -> dict[str, Any]:
    return {"server2_tez_sessions_per_queue": number, "server2_tez_queues": list(queues)}


def test_tez_sessions_that_leave_half_of_the_containers_are_taken() -> None:
    assert errors(inventory(given={"edge": sessions(4)})) == []


def test_tez_sessions_beyond_half_of_the_containers_name_sum_and_variables() -> None:
    text = only_error(inventory(given={"edge": sessions(5)}))
    assert "hold 2560 MiB of application masters" in text
    assert "edge: 5 x 1 x 512" in text
    assert "more than half of the 4096 MiB that all NodeManagers offer" in text
    assert "lower server2_tez_sessions_per_queue or cluster_tez_am_mb" in text


def test_tez_sessions_count_for_each_queue_and_each_hiveserver2() -> None:
    assert "hold 3072 MiB" in only_error(inventory(given={"edge": sessions(3, ("a", "b"))}))
    placed = {"server2": ("edge", "master")}
    assert "hold 3072 MiB" in only_error(inventory(placed, {"all": sessions(3)}))


def test_tez_sessions_may_take_half_of_all_nodemanagers_together() -> None:
    placed = {"nodemanager": ("worker", "worker2"), "datanode": ("worker", "worker2")}
    assert errors(inventory(placed, {"edge": sessions(8)})) == []


QUEUES = {
    "yarn.scheduler.capacity.root.queues": "default, compaction",
    "yarn.scheduler.capacity.root.default.capacity": 60,
    "yarn.scheduler.capacity.root.default.maximum-am-resource-percent": 0.5,
    "yarn.scheduler.capacity.root.compaction.capacity": 40,
    "yarn.scheduler.capacity.root.compaction.maximum-am-resource-percent": 1,
}


def compactions(workers: int = 1, queue: str = "compaction") -> dict[str, Any]:
    return {"server2_compactor_workers": workers, "server2_compaction_queue": queue}


def with_queues(edge: dict[str, Any], **properties: Any) -> Inventory:
    """An inventory whose ResourceManager has QUEUES, those of `properties` in place; names have _ for dots there."""
    changed = {f"yarn.scheduler.capacity.root.{name.replace('_', '.')}": value for name, value in properties.items()}
    return inventory(given={"master": {"resourcemanager_queues": {**QUEUES, **changed}}, "edge": edge})


def only_warning(inventory: Inventory) -> str:
    problems = check_inventory(inventory, TYPES)
    assert [problem.warning for problem in problems] == [True], problems
    return problems[0].text


def test_shares_that_hold_what_is_placed_in_them_are_taken() -> None:
    # 40 % of 4096 less a tenth of the rest are 1392 for an application master of 512 and a task; 60 % times 0.5 hold two.
    given = with_queues({**compactions(), **sessions(2), "cluster_tez_container_mb": 880})
    assert check_inventory(given, TYPES) == []


def test_a_share_without_a_task_for_compactions_is_told_with_sum_and_variables() -> None:
    text = only_warning(with_queues({**compactions(), "cluster_tez_container_mb": 882}))
    assert (
        "Compactions need 1394 MiB in the queue root.compaction: application masters (edge: 1 x 512) and a task" in text
    )
    assert "YARN brings back 1393 of the 4096 MiB" in text
    assert "raise yarn.scheduler.capacity.root.compaction.capacity in resourcemanager_queues" in text


def test_sessions_beyond_their_queues_share_are_told() -> None:
    text = only_warning(with_queues(sessions(3)))
    assert "server2 holds 1536 MiB of application masters (edge: 3 x 512) in the queue root.default" in text
    assert "whose share has room for 1229" in text


def test_compactions_beside_queries_in_one_queue_are_told() -> None:
    text = only_warning(with_queues({**compactions(queue="root.default"), **sessions(1)}))
    assert "Compactions run in the queue root.default (server2_compaction_queue), as the sessions of server2 do" in text


def test_a_queue_that_yarn_does_not_have_is_refused_with_those_that_it_has() -> None:
    text = only_error(with_queues(compactions(queue="compactions")))
    assert "server2_compaction_queue names the queue 'compactions' for edge" in text
    assert "resourcemanager_queues of master has no such leaf queue (it has root.default, root.compaction)" in text
    assert "server2_tez_queues names the queue 'bi' for edge" in only_error(with_queues(sessions(1, ("default", "bi"))))


def test_without_workers_no_queue_for_compactions_is_wanted() -> None:
    assert errors(with_queues(compactions(0, "none"))) == []


@pytest.mark.parametrize("capacity", ["40%", "4w", "much"])
def test_a_capacity_that_yarn_cannot_read_is_refused(capacity: str) -> None:
    text = only_error(with_queues({}, compaction_capacity=capacity))
    assert "The ResourceManager would not start with resourcemanager_queues of master" in text
    assert f"yarn.scheduler.capacity.root.compaction.capacity is '{capacity}': it must be a number" in text


def test_a_queue_without_capacity_is_refused() -> None:
    text = only_error(with_queues({}, queues="default,compaction,bi"))
    assert "yarn.scheduler.capacity.root.bi.capacity is missing: give the queue its percentage of root" in text


def test_capacities_that_are_not_100_together_are_refused() -> None:
    text = only_error(with_queues({}, compaction_capacity=25))
    assert (
        "the capacities of the queues of root add up to 85 (default 60, compaction 25): they must add up to 100" in text
    )


def test_absolute_resources_are_left_to_the_operator() -> None:
    resources = {"default_capacity": "[memory=3072,vcores=3]", "compaction_capacity": "[memory=1024,vcores=1]"}
    assert check_inventory(with_queues({**compactions(9), **sessions(4)}, **resources), TYPES) == []


def test_queues_within_queues_are_found_and_their_shares_multiplied() -> None:
    queues = {
        **QUEUES,
        "yarn.scheduler.capacity.maximum-am-resource-percent": "0.25",
        "yarn.scheduler.capacity.root.default.queues": "bi,etl",
        "yarn.scheduler.capacity.root.default.bi.capacity": "50",
        "yarn.scheduler.capacity.root.default.etl.capacity": 50,
    }
    found = leaf_queues(queues)
    assert found == [
        Queue("root.default.bi", 0.3, 0.25),
        Queue("root.default.etl", 0.3, 0.25),
        Queue("root.compaction", 0.4, 1),
    ]
    assert called(found, "etl") == called(found, "root.default.etl") == found[1]
    assert called(found, "default") is None


def test_a_name_that_two_queues_have_names_none() -> None:
    assert called([Queue("root.a.jobs", 0.5), Queue("root.b.jobs", 0.5)], "jobs") is None


# --- hosts --------------------------------------------------------------------------------------------------------


def machine(**facts: Any) -> HostInfo:
    good = {"distribution": "debian", "version": "12", "memory_mb": 16000, "architecture": "x86_64"}
    return HostInfo(**{**good, "python_version": "3.11", **facts})


def host_errors(
    found: dict[str, HostInfo], limits: Limits | None = None, checked: Inventory | None = None
) -> list[str]:
    problems = check_hosts(checked or inventory(), TYPES, found, limits or Limits())
    return [problem.text for problem in problems]


def test_good_hosts_have_no_problem() -> None:
    good = machine(java_release=17, disks=(Disk(("/opt",), 9000),), listeners=(Listener(22, 1, "sshd", "ssh.service"),))
    assert host_errors({"master": good, "worker": good, "edge": good}) == []


@pytest.mark.parametrize(("distribution", "version"), [("debian", "12"), ("ubuntu", "22.04"), ("ubuntu", "24.04")])
def test_a_supported_system_is_taken(distribution: str, version: str) -> None:
    assert host_errors({"master": machine(distribution=distribution, version=version)}) == []


@pytest.mark.parametrize(("distribution", "version"), [("debian", "11"), ("ubuntu", "20.04"), ("rhel", "9"), ("", "")])
def test_another_system_is_named(distribution: str, version: str) -> None:
    found = host_errors({"master": machine(distribution=distribution, version=version)})
    assert len(found) == 1
    assert f"The host master runs {f'{distribution} {version}'.strip() or 'an unknown system'}" in found[0]
    assert "Debian 12 or Ubuntu 22.04/24.04" in found[0]


def test_another_jdk_is_named_with_its_variable() -> None:
    (text,) = host_errors({"master": machine(java_release=11)})
    assert "cluster_java_home (/usr/lib/jvm/java-17-openjdk-amd64) on host master holds a JDK 11" in text


@pytest.mark.parametrize("architecture", ["aarch64", "i686", ""])
def test_another_architecture_is_refused(architecture: str) -> None:
    (text,) = host_errors({"master": machine(architecture=architecture)})
    assert f"The host master is {architecture or 'an unknown machine'}, but the locked Python packages" in text
    assert "cluster_java_home are for x86_64: use a host of that architecture" in text


def test_another_python_that_is_locked_names_both_variables() -> None:
    (text,) = host_errors({"master": machine(python_version="3.12")})
    assert "artifacts_python_interpreter (/usr/bin/python3) on host master is Python 3.12" in text
    assert "artifacts_python_version is 3.11" in text
    assert text.endswith(
        "set artifacts_python_version to 3.12, or artifacts_python_interpreter to a Python 3.11 of that host"
    )


def test_a_python_without_a_lock_names_the_packages_of_another() -> None:
    (text,) = host_errors({"master": machine(python_version="3.10")})
    assert "set artifacts_python_version to" not in text
    assert "set artifacts_python_interpreter to a Python 3.11 of that host" in text
    assert "install the packages python3.11 and python3.11-venv" in text


@pytest.mark.parametrize("version", ["3.12", 3.12])
def test_the_wanted_python_may_be_set(version: object) -> None:
    checked = inventory(given={"all": {"artifacts_python_version": version}})
    assert host_errors({"master": machine(python_version="3.12")}, checked=checked) == []


def test_the_default_python_may_not_be_there_yet() -> None:
    assert host_errors({"master": machine(python_version=None)}) == []


def test_a_python_of_ones_own_that_is_not_there_names_its_packages() -> None:
    checked = inventory(given={"all": {"artifacts_python_interpreter": "/usr/bin/python3.11"}})
    (text,) = host_errors({"master": machine(python_version=None)}, checked=checked)
    assert "artifacts_python_interpreter (/usr/bin/python3.11) does not exist on host master" in text
    assert "install the packages python3.11 and python3.11-venv there" in text


def test_a_python_that_does_not_run_is_named() -> None:
    (text,) = host_errors({"master": machine(python_version="")})
    assert "on host master does not run as a Python: set it to a Python 3.11" in text


def test_names_that_a_host_cannot_resolve_are_one_problem() -> None:
    addresses = {"edge": (), "master": ("192.0.2.1",), "worker": ()}
    everyone = {"master": machine(addresses=addresses), "worker": machine(), "edge": machine()}
    (text,) = host_errors(everyone)
    assert "The host master cannot resolve edge, worker: add the missing names" in text
    assert "cluster_address" in text


def test_a_name_that_does_not_resolve_is_a_warning_if_its_host_takes_no_part() -> None:
    addresses = {"edge": ("192.0.2.2",), "master": ("192.0.2.1",), "worker": ()}
    found = check_hosts(inventory(), TYPES, {"master": machine(addresses=addresses)}, Limits())
    assert [(problem.warning, problem.text) for problem in found] == [
        (True, "The host master cannot resolve worker, which this run does not touch (--limit)")
    ]


def test_a_name_of_a_host_that_does_not_answer_is_told_by_the_line_of_that_host_alone() -> None:
    addresses = {"edge": ("192.0.2.2",), "master": ("192.0.2.1",), "worker": ()}
    found = check_hosts(
        inventory(), TYPES, {"master": machine(addresses=addresses)}, Limits(), {"worker": "No such container: worker"}
    )
    assert [(problem.warning, problem.text) for problem in found] == [
        (
            False,
            "The host worker cannot be asked (No such container: worker): start the host, correct its name, or leave it out with"
            " --limit",
        )
    ]


def test_names_that_resolve_are_no_problem() -> None:
    addresses = dict.fromkeys(("edge", "master", "worker"), ("192.0.2.1",))
    assert host_errors({"master": machine(addresses=addresses)}) == []


def test_a_host_whose_own_name_is_loopback_is_named() -> None:
    checked = inventory(given={"master": {"cluster_address": "m.example.com"}})
    addresses = {"m.example.com": ("127.0.1.1",), "edge": ("192.0.2.3",)}
    found = {"master": machine(addresses=addresses)}
    (text,) = host_errors(found, checked=checked)
    assert "The host master resolves its own cluster_address (m.example.com) to 127.0.1.1" in text
    assert "/etc/hosts" in text


ABSENT = (User("hdfs"), User("hive"))
PRESENT = (User("hdfs", 1511, "hdfs"), User("hive", 1513, "hive"))


@pytest.mark.parametrize("manage", [False, "false", "no"])
def test_accounts_that_others_make_must_be_there(manage: object) -> None:
    checked = inventory(given={"all": {"cluster_manage_users": manage}})
    (text,) = host_errors({"master": machine(users=(PRESENT[0], ABSENT[1]), groups=("hdfs",))}, checked=checked)
    assert "The host master lacks the user hive, the group hive, the group hadoop, the group warehouse" in text
    assert "set cluster_manage_users to true" in text


def test_accounts_that_others_made_may_have_any_uid() -> None:
    checked = inventory(given={"all": {"cluster_manage_users": False}})
    users = (User("hdfs", 990), User("hive", 991, "mail"))
    assert (
        host_errors({"master": machine(users=users, groups=("hdfs", "hive", "hadoop", "warehouse"))}, checked=checked)
        == []
    )


@pytest.mark.parametrize("users", [ABSENT, PRESENT])
def test_accounts_of_ours_are_made_or_there(users: tuple[User, ...]) -> None:
    assert host_errors({"master": machine(users=users)}) == []


def test_accounts_with_another_uid_and_taken_uids_are_one_problem() -> None:
    (text,) = host_errors({"master": machine(users=(User("hdfs", 990), User("hive", None, "ubuntu")))})
    assert "On host master the user hdfs has the uid 990 and not 1511, the uid 1513 of hive is taken by ubuntu" in text
    assert "set uids in cluster_users" in text


def test_the_group_of_the_warehouse_has_a_number_of_its_own() -> None:
    checked = inventory(given={"all": {"cluster_warehouse_group": {"name": "warehouse", "gid": 1513}}})
    (text,) = host_errors({"master": machine()}, checked=checked)
    assert "the gid 1513 of cluster_warehouse_group is that of a user's own group" in text


def test_a_host_is_asked_for_what_its_variables_name() -> None:
    checked = inventory(
        given={"edge": {"cluster_address": "e.example.com", "cluster_users": {"hive": {}, "spark": {"uid": "7"}}}}
    )
    assert questions(checked, "edge") == {
        "java_home": "/usr/lib/jvm/java-17-openjdk-amd64",
        "paths": ["/opt/hopshive", "/var/lib/hopshive"],
        "python": "/usr/bin/python3",
        "resolve": ["e.example.com", "master", "worker"],
        "users": {"hive": None, "spark": 7},
        "groups": ["hive", "spark", "hadoop", "warehouse"],
        "firewall": False,
    }


def test_hosts_that_are_not_entered_as_root_are_one_problem() -> None:
    entered = machine(entered_as="admin")
    found = host_errors({"master": entered, "worker": entered, "edge": machine()})
    assert found == ["Ansible is admin on hosts master, worker, and only root can install: set ansible_become to true"]


def test_no_jdk_yet_is_no_problem() -> None:
    assert host_errors({"master": machine(java_release=None)}) == []


def test_the_need_of_a_host_counts_heaps_containers_and_buffer_pool() -> None:
    assert memory_need(inventory(), ["master"]) == {"metastore": 1300, "mariadb": 100}
    assert memory_need(inventory(), ["worker"]) == {"nodemanager": 260, "containers": 4096}


def test_too_little_memory_names_host_parts_and_variable() -> None:
    (text,) = host_errors({"worker": machine(memory_mb=4000)})
    assert "The host worker has 4000 MiB of memory, but what is placed there may take 4356 MiB" in text
    assert "(containers 4096, nodemanager 260)" in text
    assert "lower cluster_nodemanager_memory_mb" in text


def test_too_little_memory_names_the_variable_of_the_largest_part() -> None:
    checked = inventory(given={"edge": {"cluster_server2_heap_mb": 99999}})
    (text,) = host_errors({"edge": machine(memory_mb=4000)}, checked=checked)
    assert "lower cluster_server2_heap_mb" in text


def test_a_memory_ratio_above_one_allows_for_more() -> None:
    assert host_errors({"worker": machine(memory_mb=4000)}, Limits(memory_ratio=1.1)) == []


def test_hosts_that_share_a_machine_add_up() -> None:
    found = {"master": machine(memory_mb=5000), "worker": machine(memory_mb=5000)}
    assert host_errors(found) == []
    (text,) = host_errors(found, Limits(shared_host=True))
    assert "The machine that all hosts share has 5000 MiB of memory" in text


def test_a_shared_machine_counts_the_hosts_outside_of_the_limit() -> None:
    (text,) = host_errors({"edge": machine(memory_mb=5000)}, Limits(shared_host=True))
    assert "may take 5756 MiB" in text


def test_too_little_disk_names_paths_and_variable() -> None:
    disks = (Disk(("/opt/hopshive",), 800), Disk(("/var/lib/hopshive",), 90000))
    (text,) = host_errors({"master": machine(disks=disks)})
    assert "The host master has 800 MiB free for /opt/hopshive, fewer than preflight_disk_mb (5120)" in text
    assert host_errors({"master": machine(disks=disks)}, Limits(disk_mb=500)) == []


def test_a_port_that_another_process_holds_is_named() -> None:
    (text,) = host_errors({"master": machine(listeners=(Listener(9083, 12, "nginx", "nginx.service"),))})
    assert "port 9083 of the metastore on host master is taken by process nginx (pid 12, unit nginx.service)" in text
    assert "set cluster_metastore_port to a free port, or stop that process" in text


def test_a_port_whose_holder_is_hidden_is_named() -> None:
    (text,) = host_errors({"master": machine(listeners=(Listener(9083),))})
    assert "taken by process of another user or container: set cluster_metastore_port" in text


def test_our_own_unit_may_hold_its_port() -> None:
    held = (Listener(9083, 12, "java", "hive-metastore.service"), Listener(3306, 9, "mariadbd", "mariadb.service"))
    assert host_errors({"master": machine(listeners=held)}) == []


def test_our_own_unit_on_a_host_that_its_component_left_is_named() -> None:
    held = (Listener(10000, 12, "java", "hive-metastore.service"),)
    (text,) = host_errors({"edge": machine(listeners=held)})
    assert "no longer in the group metastore, so stop and disable that unit" in text


def test_a_port_of_a_component_placed_elsewhere_may_be_taken() -> None:
    assert host_errors({"worker": machine(listeners=(Listener(9083, 12, "nginx", "nginx.service"),))}) == []


def test_a_port_on_two_addresses_is_one_problem() -> None:
    held = (Listener(9083, 12, "nginx", "nginx.service"), Listener(9083, 13, "nginx", "nginx.service"))
    assert len(host_errors({"master": machine(listeners=held)})) == 1


def test_the_modules_result_becomes_a_value() -> None:
    found = host_info(
        {
            "changed": False,
            "distribution": "debian",
            "version": "12",
            "memory_mb": 512,
            "java_release": 17,
            "disks": [{"paths": ["/opt"], "free_mb": 5}],
            "listeners": [{"port": 22, "pid": 1, "process": "sshd", "unit": "ssh.service"}],
            "architecture": "x86_64",
            "python_version": "3.11",
            "addresses": {"master": ["192.0.2.1"], "edge": []},
            "users": [{"name": "hive", "uid": 1513, "holder": "hive"}, {"name": "yarn", "uid": None, "holder": ""}],
            "groups": ["hive"],
        }
    )
    assert found == HostInfo(
        distribution="debian",
        version="12",
        memory_mb=512,
        java_release=17,
        disks=(Disk(("/opt",), 5),),
        listeners=(Listener(22, 1, "sshd", "ssh.service"),),
        architecture="x86_64",
        python_version="3.11",
        addresses={"master": ("192.0.2.1",), "edge": ()},
        users=(User("hive", 1513, "hive"), User("yarn")),
        groups=("hive",),
    )


# --- the report ---------------------------------------------------------------------------------------------------


def test_a_report_numbers_the_errors_and_leaves_warnings_out() -> None:
    text = report([Problem("one"), Problem("odd", warning=True), Problem("two")], "in the inventory")
    assert text.splitlines() == [
        "Preflight found 2 problems in the inventory; no host was changed.",
        "  1. one",
        "  2. two",
    ]


def test_warnings_alone_are_no_failure() -> None:
    assert report([Problem("odd", warning=True)], "in the inventory") == ""


def test_one_text_for_many_hosts_is_one_problem() -> None:
    hosts = [f"h{number}" for number in range(6)]
    findings = [("x is wrong for {hosts}", host) for host in hosts]
    assert [problem.text for problem in merged(findings, hosts)] == ["x is wrong for all hosts"]
    assert [problem.text for problem in merged(findings[:1], hosts)] == ["x is wrong for host h0"]
    assert [problem.text for problem in merged(findings[:5], hosts)] == [
        "x is wrong for hosts h0, h1, h2, h3 and 1 more"
    ]


def test_a_long_list_is_cut() -> None:
    assert listed("abcdef") == "a, b, c, d and 2 more"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"cluster_firewall_clients": ["10.0/8"]},
            "cluster_firewall_clients has '10.0/8', which is neither an address",
        ),
        ({"cluster_firewall_ssh": ["everywhere"]}, "cluster_firewall_ssh has 'everywhere'"),
        ({"cluster_firewall_extra": [{"port": 9100}]}, "cluster_firewall_extra has {'port': 9100}"),
        ({"cluster_firewall_rollback": 3}, "cluster_firewall_rollback is 3 for all hosts: Ansible needs 10 s or more"),
    ],
)
def test_a_firewall_without_sense_is_refused(given: dict[str, Any], said: str) -> None:
    types = {**TYPES, "cluster_firewall": "bool", **{name: KINDS[type(value)] for name, value in given.items()}}
    (found,) = check_inventory(inventory(given={"all": {"cluster_firewall": True, **given}}), types)
    assert said in found.text
    assert check_inventory(inventory(given={"all": {"cluster_firewall": False, **given}}), types) == []


def test_a_host_that_takes_no_firewall_rules_is_named() -> None:
    found = machine(firewall="it has no command nft")
    checked = inventory(given={"all": {"cluster_firewall": True}})
    (problem,) = check_hosts(checked, TYPES, {"edge": found}, Limits())
    assert "The host edge takes no firewall rules (it has no command nft): install the package nftables" in problem.text
    assert questions(checked, "edge")["firewall"] is True
    assert questions(inventory(), "edge")["firewall"] is False
    assert host_info({"memory_mb": 1, "firewall": ""}).firewall == ""
    assert host_info({"memory_mb": 1, "firewall": None}).firewall is None


def test_a_name_without_an_address_stops_a_firewall_even_beyond_the_limit() -> None:
    found = machine(addresses={"edge": ("10.0.0.3",), "master": ()}, firewall="")
    checked = inventory(given={"all": {"cluster_firewall": True}})
    (problem,) = check_hosts(checked, TYPES, {"edge": found}, Limits())
    assert (
        "cannot resolve master, which this run does not touch (--limit): the rules of cluster_firewall need"
        in problem.text
    )
    assert not problem.warning
    (problem,) = check_hosts(inventory(), TYPES, {"edge": found}, Limits())
    assert problem.warning


PROJECTS = {"sales": {"id": 20000, "members": {"alice": {"id": 30000, "role": "owner"}}}}
SSH_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f alice"


def with_key(key: object) -> dict[str, Any]:
    return {
        "projects": {"sales": {"id": 20000, "members": {"alice": {"id": 30000, "role": "owner", "ssh_keys": [key]}}}}
    }


@pytest.mark.parametrize("given", [{"projects": PROJECTS}, {"projects": {}}, with_key(SSH_KEY)])
def test_projects_that_can_be_made_are_accepted(given: dict[str, Any]) -> None:
    assert errors(inventory({"client": ("edge",)}, {"all": given})) == []


def test_a_project_that_cannot_be_made_is_named_before_anything_changes() -> None:
    assert only_error(inventory(given={"all": {"projects": {"sales": {"id": 20000, "members": {}}}}})) == (
        "projects.sales.members must hold people as `account: {id: number, role: owner}` (for all hosts)"
    )


def test_a_key_that_is_none_is_named_and_never_shown() -> None:
    said = only_error(inventory({"client": ("edge",)}, {"all": with_key("ssh-ed25519 c2VjcmV0 alice")}))
    assert "projects.sales.members.alice.ssh_keys[0] must be one public key" in said
    assert "c2VjcmV0" not in said


def test_keys_need_hosts_that_they_open() -> None:
    placement = {name: hosts for name, hosts in PLACEMENT.items() if name != "client"}
    checked = inventory(given={"all": with_key(SSH_KEY)})
    groups = {name: hosts for name, hosts in checked.groups.items() if name != "client"}
    without = Inventory(groups, tuple(placement), checked.hosts)
    assert any(
        "projects has ssh_keys for sales__alice" in error and "group client" in error for error in errors(without)
    )
