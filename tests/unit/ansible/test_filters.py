"""The filters over results, packages, containers, accounts and hosts, and the documentation of all filters."""

from __future__ import annotations

import base64
import importlib
import inspect
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.errors import AnsibleFilterError

from filter_plugins.accounts import account_ids, home_directories
from filter_plugins.config_files import as_directories, same_files
from filter_plugins.containers import container_names, foreign_containers
from filter_plugins.packages import apt_mirror, not_installed, sha256sum_lines
from filter_plugins.people import hashed_people
from filter_plugins.results import engine_identity, items_where, items_without, last_output, paths_changed_by
from filter_plugins.topology import units_beside, values_by_host
from hopshive.tenancy.login.backends.people import HASHER

ROOT = Path(__file__).parents[3]
PLUGINS = sorted((ROOT / "filter_plugins").glob("*.py"))
FILTERS: dict[str, Any] = {
    name: function
    for path in PLUGINS
    for name, function in importlib.import_module(f"filter_plugins.{path.stem}").FilterModule().filters().items()
}


@pytest.mark.parametrize("name", FILTERS)
def test_a_filter_is_documented_with_its_parameters(name: str) -> None:
    documents = yaml.safe_load((ROOT / f"filter_plugins/{name}.yml").read_text())
    documentation = documents["DOCUMENTATION"]
    assert documentation["name"] == name
    parameters = list(inspect.signature(FILTERS[name]).parameters.values())
    assert list(documentation["options"]) == ["_input", *(parameter.name for parameter in parameters[1:])]
    for parameter in parameters[1:]:
        option = documentation["options"][parameter.name]
        needed = parameter.default is parameter.empty and parameter.kind is not parameter.VAR_KEYWORD
        assert option.get("required", False) is needed, parameter.name
        if not needed and parameter.default not in (parameter.empty, None):
            assert option["default"] == parameter.default, parameter.name
    assert f"| {name}" in documents["EXAMPLES"]
    assert {"description", "type"} <= set(documents["RETURN"]["_value"])


def test_no_documentation_is_left_of_a_filter_that_went() -> None:
    assert {path.stem for path in (ROOT / "filter_plugins").glob("*.yml")} == set(FILTERS)


# A template, or the condition of a task.
EXPRESSION = re.compile(r"\{\{.*?\}\}|(?m:^ *(?:when|that|loop|failed_when|changed_when|until): [^\n]*$)", re.DOTALL)
STEP = re.compile(r"\| *(?:map|select|selectattr|reject|rejectattr|zip|flatten)\b")


def test_no_expression_is_a_puzzle() -> None:
    """More than three steps over the elements of a list are a filter, which has a name and a test."""
    trees = ("roles", "playbooks", "inventories")
    puzzles = [
        f"{path.relative_to(ROOT)}: {' '.join(found.split())}"
        for tree in trees
        for path in sorted((ROOT / tree).rglob("*.yml"))
        for found in EXPRESSION.findall(path.read_text())
        if len(STEP.findall(found)) > 3 or re.search(r"\| *zip\b|\bnamespace\(|dict_kv", found)
    ]
    assert not puzzles


def test_the_value_of_each_host_is_found_by_its_name() -> None:
    hostvars = {"a": {"ip": "10.0.0.1"}, "b": {}}
    assert values_by_host(["a", "b"], hostvars, "ip", "") == {"a": "10.0.0.1", "b": ""}


def test_a_host_without_the_variable_is_named() -> None:
    with pytest.raises(AnsibleFilterError, match=r"b has no variable ip\."):
        values_by_host(["a", "b"], {"a": {"ip": "10.0.0.1"}, "b": {}}, "ip")


def test_units_beside_are_those_whose_group_has_the_host() -> None:
    groups = {"mariadb": ["a"], "namenode": ["a", "b"]}
    assert units_beside(["mariadb", "namenode"], "a", groups) == ["mariadb.service", "hadoop-hdfs-namenode.service"]
    assert units_beside(["mariadb", "namenode"], "b", groups) == ["hadoop-hdfs-namenode.service"]
    assert units_beside(["zookeeper"], "a", groups) == []


def test_accounts_keep_their_numbers() -> None:
    assert account_ids({"hdfs": {"uid": 1511}, "ann": {"uid": 1600}}) == {"hdfs": 1511, "ann": 1600}


def test_a_home_belongs_to_its_user() -> None:
    assert home_directories(["ann"], "/home") == [{"path": "/home/ann", "owner": "ann", "mode": "0750"}]
    assert home_directories(["ann"], "/user", group="hadoop") == [
        {"path": "/user/ann", "owner": "ann", "group": "hadoop", "mode": "0750"}
    ]


def test_directories_share_their_attributes() -> None:
    assert as_directories(["/a", "/b"], mode="0700") == [
        {"path": "/a", "mode": "0700"},
        {"path": "/b", "mode": "0700"},
    ]


def test_files_share_their_text() -> None:
    assert same_files(["a", "b"], "x\n", "/bin") == [
        {"path": "/bin/a", "content": "x\n"},
        {"path": "/bin/b", "content": "x\n"},
    ]


def test_containers_have_names_without_a_slash() -> None:
    assert container_names([{"Names": ["/b"]}, {"Names": ["/a", "/c"]}]) == ["a", "b", "c"]


def test_a_container_without_our_label_is_foreign() -> None:
    containers: list[dict[str, Any]] = [
        {"Names": ["/ours"], "Labels": {"hopshive": "lab"}},
        {"Names": ["/bare"], "Labels": None},
        {"Names": ["/other"], "Labels": {"hopshive": "ha"}},
        {"Names": ["/elsewhere"], "Labels": {}},
    ]
    hosts = ["ours", "bare", "other"]
    assert foreign_containers(containers, "hopshive", "lab", hosts) == ["bare", "other"]


@pytest.mark.parametrize(
    ("lines", "mirror"),
    [
        (["Debian http://mirror/debian", "Debian http://second/debian"], "http://mirror/debian"),
        (["Debian-Security https://mirror/security", "Debian https://mirror/debian"], "https://mirror/debian"),
        (["Debian file:/srv/debian"], ""),
        ([" http://unnamed"], ""),
        ([], ""),
    ],
)
def test_the_first_mirror_over_http_is_taken(lines: list[str], mirror: str) -> None:
    assert apt_mirror(lines, "Debian") == mirror


def test_a_package_that_was_removed_is_not_installed() -> None:
    lines = ["curl installed", "jq config-files", "make not-installed"]
    assert not_installed(["curl", "jq", "make", "git"], lines) == ["jq", "make", "git"]


def test_files_are_listed_as_sha256sum_prints_them() -> None:
    assert sha256sum_lines([{"sha256": "ab", "url": "http://x/y.jar"}]) == ["ab  http://x/y.jar"]


STAT: dict[str, Any] = {"stat": {"exists": True}, "item": "full"}
EMPTY: dict[str, Any] = {"stat": {"exists": False}, "item": "empty"}
FAILED: dict[str, Any] = {"msg": "unreachable", "item": "gone"}
SKIPPED: dict[str, Any] = {"skipped": True, "item": "left out"}


def test_items_are_those_with_the_value() -> None:
    results = [STAT, EMPTY, FAILED, SKIPPED]
    assert items_where(results, "stat.exists", value=True) == ["full"]
    assert items_where(results, "stat.exists", value=False) == ["empty"]


def test_items_without_a_field_have_failed() -> None:
    assert items_without([STAT, EMPTY, FAILED, SKIPPED], "stat") == ["gone"]


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        ({"stdout_lines": ["1", "2", "3"], "stderr_lines": ["e"]}, "2\n3"),
        ({"stdout_lines": [], "stderr_lines": ["e"]}, "e"),
        ({"exception": "no such file", "msg": "failed"}, "The command did not start: no such file"),
        ({"msg": "failed"}, "The command did not start: failed"),
        ({}, "The command did not start: no reason was given"),
    ],
)
def test_the_last_output_is_what_says_most(result: dict[str, Any], shown: str) -> None:
    assert last_output(result, 2) == shown


def test_a_path_that_was_just_made_is_not_changed() -> None:
    changes: list[dict[str, Any]] = [
        {"path": "/new", "before": None, "operations": ["MakeDirectory", "SetAcl"]},
        {"path": "/old", "before": {"mode": "0755"}, "operations": ["SetAcl"]},
        {"path": "/owned", "before": {"mode": "0755"}, "operations": ["SetOwner"]},
    ]
    assert paths_changed_by(changes, "SetAcl") == ["/old"]


def slurped(text: str) -> dict[str, str]:
    return {"content": base64.b64encode(text.encode()).decode()}


def test_an_engine_is_known_by_boot_process_and_start() -> None:
    # Fields 1 and 2 of /proc/PID/stat, then 3 to 22: the last one is the start time.
    stat = "71 (docker (x) d) " + " ".join(str(number) for number in range(3, 60))
    assert engine_identity([slurped("b00t\n"), slurped(stat)], "71") == "b00t 71 22"


def test_without_a_process_there_is_no_identity() -> None:
    assert engine_identity([], "") == ""
    assert engine_identity([SKIPPED, SKIPPED], "71") == ""


def test_people_get_hashes_that_a_further_run_keeps() -> None:
    people = {"alice@example.org": {"account": "alice", "password": "secret one"}}
    first = hashed_people(people)["alice@example.org"]
    assert first["account"] == "alice"
    assert HASHER.verify(first["password"], "secret one")
    assert not HASHER.check_needs_rehash(first["password"])
    assert hashed_people(people)["alice@example.org"] == first
    with pytest.raises(AnsibleFilterError, match=r"bob@example.org has no password"):
        hashed_people({"bob@example.org": {"account": "bob", "password": ""}})
