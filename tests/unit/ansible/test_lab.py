"""What `make lab` prints at its end, rendered by Ansible's own templar."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar, trust_as_template

from tests.docs.ways import by_name

if TYPE_CHECKING:
    from collections.abc import Mapping

ROOT = Path(__file__).parents[3]
ROLE = ROOT / "roles/lab"


def printed(inventory: str, more: Mapping[str, Any] | None = None) -> str:
    """What a lab of an inventory prints, whose name is as Ansible knows it."""
    loader = DataLoader()
    variables = loader.load_from_file(str(ROLE / "vars/main.yml"), trusted_as_template=True)
    known = {"groups": {"client": ["edge"]}, "role_path": str(ROLE), "ansible_inventory_sources": [inventory]}
    templar = Templar(loader=loader, variables={**variables, **known, **(more or {})})
    return str(templar.template(trust_as_template("{{ __lab_connect }}")))


@pytest.mark.parametrize(
    ("inventory", "argument"),
    [
        (str(ROOT / "inventories/lab"), ""),
        (str(ROOT / "inventories/lab_ha"), " INVENTORY=inventories/lab_ha"),
        (str(ROOT / "inventories/mine/hosts.yml"), " INVENTORY=inventories/mine/hosts.yml"),
        ("/srv/labs/one", " INVENTORY=/srv/labs/one"),
    ],
)
def test_the_commands_that_follow_name_another_lab(inventory: str, argument: str) -> None:
    lines = printed(inventory).splitlines()
    assert f"job      make smoke{argument} runs it again" in lines
    assert f"the end  make lab-down{argument} removes the containers; the cache stays" in lines


HOSTS = ("master", "worker", "edge")
PEOPLE: dict[str, Any] = {
    "groups": {
        "client": ["edge"],
        "server2": ["edge", "worker"],
        "login": ["master"],
        "gateway": ["worker"],
        "cleaner": ["master"],
    },
    "hostvars": {name: {"lab_ip": f"192.0.2.{number}"} for number, name in enumerate(HOSTS)},
    "lab_people": {
        "ann@example.org": {"account": "ann", "password": "of ann"},
        "joe@example.org": {"account": "joe", "password": "of joe", "totp": "CODEOFJOE"},
    },
    "projects": {"plans": {"members": {"joe": {}}}, "sales": {"members": {"ann": {}}}},
    "lab_client_accounts": ["ann"],
    "lab_clients_dir": "/state/clients",
    "lab_secrets_dir": "/state/secrets",
    "cluster_tls": "bundle",
    "cluster_tls_authority_dir": "/state/tls",
    "login_code_separator": "+",
    "ansible_playbook_python": "/venv/python",
}


def ways(**changed: Any) -> dict[str, list[str]]:
    """The lines of a lab whose people log in."""
    said = printed("/srv/labs/one", PEOPLE | changed)
    return by_name("    msg: |-\n" + "".join(f"        {line}\n" for line in said.splitlines()))


def test_a_lab_with_people_prints_how_they_come_in_and_no_secret() -> None:
    found = ways()
    assert "SQL" not in found
    assert found["people"] == ["ann@example.org, joe@example.org; passwords in /state/secrets, by account"]
    assert found["beeline"] == [
        "docker exec -it edge beeline -u 'jdbc:hive2://edge:10000/sales;ssl=true' -n ann@example.org -p"
    ]
    assert found["JDBC"] == [
        "jdbc:hive2://192.0.2.2:10000/sales;ssl=true;sslTrustStore=/state/tls/hosts/edge/truststore.p12;trustStoreType=PKCS12"
        ";trustStorePassword=changeit"
    ]
    assert found["code"][0].endswith("open('/state/secrets/joe_totp').read().strip()).now())\"")
    assert found["code"][1] == "joe@example.org types password+code"
    assert found["token"][0].endswith("--cacert /state/tls/authority.pem --json @- https://192.0.2.0:9443/v1/login")
    assert found["program"][0].endswith("--key /state/clients/ann.key https://192.0.2.1:10443/whoami")
    assert found["PySpark"] == ["docker exec -it -u sales__ann edge pyspark"]
    text = str(found)
    assert [secret for secret in ("of ann", "of joe", "CODEOFJOE") if secret in text] == []


def test_each_command_of_such_a_lab_is_one_that_a_shell_and_python_read() -> None:
    for name in ("code", "beeline", "PyHive", "token", "program"):
        for line in ways()[name]:
            if line.startswith("joe@"):
                continue
            subprocess.run(["bash", "-n", "-c", line], check=True)
            words = shlex.split(line)
            if words[-2] in ("-c", "-ic"):
                compile(words[-1], name, "exec")


def test_without_gateways_and_codes_their_lines_are_absent() -> None:
    groups = {name: hosts for name, hosts in PEOPLE["groups"].items() if name != "gateway"}
    found = ways(groups=groups, lab_people={"ann@example.org": {"account": "ann", "password": "of ann"}})
    assert {"people", "beeline", "JDBC", "token"} <= set(found)
    assert not {"code", "PyHive", "program"} & set(found)
