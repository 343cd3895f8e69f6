"""Accounts, keys and rights on YARN that follow from projects, as Ansible renders them for an inventory."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from filter_plugins.projects import authorized_keys, former_users, project_groups, project_users, unlike_users
from tests.support.servers import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f alice"
PROJECTS: dict[str, Any] = {
    "sales": {
        "id": 20000,
        "members": {
            "alice": {"id": 30000, "role": "owner", "ssh_keys": [KEY]},
            "carol": {"id": 30002, "role": "reader"},
        },
    },
    "plans": {"id": 20002, "members": {"dave": {"id": 30011, "role": "owner"}}},
}
USERS = project_users(PROJECTS)
GROUPS = project_groups(PROJECTS)
# What getent finds.
GROUP = {
    "sales": ["x", "20000", ""],
    "sales__writers": ["x", "20001", "sales__alice"],
    "plans": ["x", "20002", ""],
    "plans__writers": ["x", "20003", "plans__dave"],
}
SHELL = "/bin/bash"


def passwd(shell: str = SHELL) -> dict[str, list[str]]:
    return {
        user["name"]: ["x", str(user["id"]), str(GROUPS[user["group"]]), "", f"/home/{user['name']}", shell]
        for user in USERS
    }


def names(users: list[dict[str, Any]]) -> list[str]:
    return [user["name"] for user in users]


def test_accounts_as_they_should_be_are_left_alone() -> None:
    assert unlike_users(USERS, passwd(), GROUP, GROUPS, SHELL) == []


def test_a_missing_account_is_made() -> None:
    there = {name: fields for name, fields in passwd().items() if name != "plans__dave"}
    assert names(unlike_users(USERS, there, GROUP, GROUPS, SHELL)) == ["plans__dave"]


def test_an_account_with_another_number_or_group_is_changed() -> None:
    there = passwd()
    there["sales__alice"][1] = "4711"
    there["sales__carol"][2] = "4711"
    assert names(unlike_users(USERS, there, GROUP, GROUPS, SHELL)) == ["sales__alice", "sales__carol"]


def test_a_reader_leaves_the_group_of_those_who_write() -> None:
    group = {**GROUP, "sales__writers": ["x", "20001", "sales__alice,sales__carol"]}
    assert names(unlike_users(USERS, passwd(), group, GROUPS, SHELL)) == ["sales__carol"]


def test_on_a_host_that_becomes_a_client_accounts_get_a_shell() -> None:
    assert names(unlike_users(USERS, passwd("/usr/sbin/nologin"), GROUP, GROUPS, SHELL)) == names(USERS)
    assert unlike_users(USERS, passwd("/usr/bin/zsh"), GROUP, GROUPS) == []


def test_accounts_of_former_members_are_found_and_no_others() -> None:
    there = {**passwd(), "sales__bob": [], "root": [], "other__ann": [], "sales": []}
    assert former_users(USERS, there, ["sales", "plans"]) == ["sales__bob"]
    assert former_users([], there, ["plans"]) == ["plans__dave"]


def test_each_account_has_a_file_of_its_keys() -> None:
    files = {one["path"]: one["content"] for one in authorized_keys(USERS, "/keys", "Made by a test.")}
    assert files == {
        "/keys/sales__alice": f"# Made by a test.\n{KEY}\n",
        "/keys/sales__carol": "# Made by a test.\n",
        "/keys/plans__dave": "# Made by a test.\n",
    }


INVENTORY = {
    "hopshive": {
        "children": {
            group: {"hosts": {"master": {}}}
            for group in ("mariadb", "zookeeper", "namenode", "resourcemanager", "nodemanager", "metastore", "cleaner")
        }
        | {"server2": {"hosts": {"edge": {}}}, "client": {"hosts": {"edge": {}}}},
        "vars": {
            "ansible_connection": "local",
            "cluster_login_db_password": "a password",
            "cluster_cleaner_db_password": "a password",
        },
    }
}
ROLES = ("cluster", "resourcemanager", "spark", "cleaner", "projects")
TEXTS = {
    "yarn": "{{ cluster_yarn_site }}",
    "queues": "{{ __resourcemanager_queue_rights | combine(resourcemanager_queues) }}",
    "spark": "{{ __spark_defaults | combine(__spark_rights) }}",
    "scratch": "{{ cleaner_scratch }}",
    "sshd": "{{ __projects_sshd_file }}",
    "shell": "{{ __projects_shell }}",
}


def render(directory: Path, host: str, **variables: Any) -> Mapping[str, Any]:
    files = [
        str(path)
        for role in ROLES
        for path in (ROOT / f"roles/{role}/defaults/main.yml", ROOT / f"roles/{role}/vars/main.yml")
    ]
    task = {"ansible.builtin.copy": {"dest": str(directory / "texts.json"), "content": "{{ texts | to_json }}"}}
    play = {"hosts": host, "gather_facts": False, "vars_files": files, "tasks": [{**task, "vars": {"texts": TEXTS}}]}
    inventory = json.loads(json.dumps(INVENTORY))
    inventory["hopshive"]["vars"].update(variables)
    (directory / "play.yml").write_text(yaml.safe_dump([play]))
    (directory / "hosts.yml").write_text(yaml.safe_dump(inventory))
    argv = ["ansible-playbook", "-i", str(directory / "hosts.yml"), str(directory / "play.yml")]
    # Variables of files come before those of the inventory. Spark's read files of its role.
    argv += ["-e", json.dumps({**variables, "role_path": str(ROOT / "roles/spark")})]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    texts: dict[str, Any] = json.loads((directory / "texts.json").read_text())
    return texts


@pytest.fixture(scope="module")
def with_login(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    directory = tmp_path_factory.mktemp("login")
    return render(directory, "edge", server2_authentication="login", projects=PROJECTS)


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    return render(tmp_path_factory.mktemp("without"), "master")


def test_an_application_is_its_users_where_people_log_in(with_login: Mapping[str, Any]) -> None:
    assert with_login["yarn"]["yarn.acl.enable"] is True
    assert with_login["yarn"]["yarn.admin.acl"] == "yarn"
    assert with_login["yarn"]["yarn.webapp.filter-entity-list-by-user"] is True
    assert with_login["queues"]["yarn.scheduler.capacity.root.acl_administer_queue"] == "yarn"
    assert with_login["queues"]["yarn.scheduler.capacity.root.queues"] == "default,compaction"
    assert with_login["spark"]["spark.acls.enable"] is True


def test_without_a_login_yarn_is_as_it_was(without: Mapping[str, Any]) -> None:
    assert not [name for name in without["yarn"] if "acl" in name or "filter" in name]
    assert "yarn.scheduler.capacity.root.acl_administer_queue" not in without["queues"]
    assert "spark.acls.enable" not in without["spark"]


def test_temporary_results_of_all_people_are_cleaned(with_login: Mapping[str, Any], without: Mapping[str, Any]) -> None:
    assert "/tmp/hive/*" in with_login["scratch"]  # noqa: S108 - a directory on HDFS
    assert "/tmp/hive/*" not in without["scratch"]  # noqa: S108 - a directory on HDFS


def test_sshd_takes_keys_of_members_from_roots_files(with_login: Mapping[str, Any]) -> None:
    assert with_login["sshd"]["path"] == "/etc/ssh/sshd_config.d/hopshive.conf"
    assert with_login["sshd"]["content"].splitlines()[-2:] == [
        "Match Group sales,plans",
        "    AuthorizedKeysFile /etc/ssh/hopshive/%u",
    ]


def test_only_clients_have_a_shell(with_login: Mapping[str, Any], without: Mapping[str, Any]) -> None:
    assert (with_login["shell"], without["shell"]) == ("/bin/bash", "/usr/sbin/nologin")
