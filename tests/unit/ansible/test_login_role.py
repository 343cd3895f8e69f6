"""What the role login writes: settings that the service accepts, no secret among them, and a unit without rights."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import pyotp
import pytest
import yaml

from hopshive.database import DatabaseError
from hopshive.tenancy.login import keys, revocations
from hopshive.tenancy.login.backends.people import PeopleFile
from hopshive.tenancy.login.errors import Denied
from hopshive.tenancy.login.service import Asked
from hopshive.tenancy.login.settings import DEFAULT_PATH, LoginSettings, checked
from tests.support.login_site import ALICE, SEAL, STATE, TOTP, make_tables, person
from tests.support.login_site import PASSWORD as PASSWORD_OF_ALICE
from tests.support.servers import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from hopshive.tenancy.login.service import LoginService
    from tests.support.login_site import LoginSite

ROLE = ROOT / "roles/login"
SEALING = "a secret of the hosts for sealing keys"
PASSWORD = "kXw2-unguessed-91"
GATEWAY = "a secret of the gateway that is long enough too"
INVENTORY = {
    "hopshive": {
        "children": {
            "mariadb": {"hosts": {"master": {}}},
            "server2": {"hosts": {"edge1": {}, "edge2": {"cluster_address": "192.0.2.2"}}},
            "login": {"hosts": {"edge1": {}}},
        },
        "vars": {
            "ansible_connection": "local",
            "cluster_login_db_password": PASSWORD,
            "login_sealing_key": SEALING,
        },
    }
}
# The role's texts, with its defaults and those of the role cluster, as tasks of it see them.
PLAY = """
- hosts: login
  gather_facts: false
  vars_files:
    - "ROLES/cluster/defaults/main.yml"
    - "ROLES/cluster/vars/main.yml"
    - "ROLES/login/defaults/main.yml"
    - "ROLES/login/vars/main.yml"
    - "VARIABLES"
  tasks:
    - ansible.builtin.copy:
        dest: "FILE"
        content: "{{ {'config': __login_config_text, 'people': __login_people_text, 'launcher': __login_launcher, 'read': READ,
          'secrets': SECRETS, 'privileges': __cluster_login_privileges, 'unit': unit} | to_json }}"
      vars:
        unit: "{{ lookup('ansible.builtin.template', 'ROLES/login/templates/unit.service.j2') }}"
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """The texts of the host edge1."""
    return render(tmp_path_factory.mktemp("role"), {"login_people": {ALICE: person()}})


def render(directory: Path, variables: Mapping[str, Any]) -> Mapping[str, Any]:
    """What the role's own templates become for an inventory, in one run of Ansible."""
    tasks = yaml.safe_load((ROLE / "tasks/service.yml").read_text())
    files = yaml.safe_load((ROLE / "tasks/config.yml").read_text())
    (secrets,) = [task["hopshive_files"]["files"] for task in files if task["name"].startswith("Write the secrets")]
    play = PLAY
    for name, text in {
        "ROLES": str(ROOT / "roles"),
        "VARIABLES": str(directory / "variables.json"),
        "FILE": str(directory / "texts.json"),
        "READ": inner(tasks[0]["vars"]["jvm_service_read"]),
        "SECRETS": inner(secrets),
    }.items():
        play = play.replace(name, text)
    (directory / "play.yml").write_text(play)
    (directory / "hosts.yml").write_text(yaml.safe_dump(INVENTORY))
    (directory / "variables.json").write_text(json.dumps({"login_gateway_secret": GATEWAY, **variables}))
    argv = ["ansible-playbook", "-i", str(directory / "hosts.yml"), str(directory / "play.yml")]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    found: Mapping[str, Any] = json.loads((directory / "texts.json").read_text())
    return found


def inner(expression: str) -> str:
    """An expression without its braces."""
    return " ".join(expression.strip().removeprefix("{{").removesuffix("}}").split())


def settings(written: Mapping[str, Any]) -> LoginSettings:
    return checked(yaml.safe_load(written["config"]), DEFAULT_PATH)


def test_the_service_accepts_what_is_written(written: Mapping[str, Any]) -> None:
    found = settings(written)
    assert (found.database.host, found.database.port, found.database.user) == ("master", 3306, "hopshive_login")
    assert found.listen.proxies == ["edge1", "192.0.2.2"]
    assert found.listen.certificate == "/etc/hopshive-login/tls/certificate.pem"
    assert found.tokens.issuer == "hopshive"
    assert found.gateway.secret_file == "/etc/hopshive-login/gateway"
    assert found.ldap.bind_password_file == ""


def test_settings_may_be_added(tmp_path: Path) -> None:
    extra = {"ldap": {"servers": ["ldaps://directory"], "base": "dc=example"}}
    variables = {"login_backend": "ldap", "login_config_extra": extra, "login_ldap_password": PASSWORD}
    found = render(tmp_path, variables)
    assert settings(found).ldap.servers == ["ldaps://directory"]
    assert settings(found).ldap.bind_password_file == "/etc/hopshive-login/ldap"
    assert {one["path"].rpartition("/")[2]: one["content"] for one in found["secrets"]} == {
        "password": PASSWORD,
        "sealing": SEALING,
        "gateway": GATEWAY,
        "ldap": PASSWORD,
    }


def test_no_secret_is_among_the_settings(written: Mapping[str, Any]) -> None:
    for text in (written["config"], written["unit"], written["launcher"]):
        assert not [secret for secret in (SEALING, PASSWORD, GATEWAY, "argon2") if secret in text]
    tasks = yaml.safe_load((ROLE / "tasks/config.yml").read_text())
    hidden = [task["name"] for task in tasks if task.get("no_log")]
    assert [name.split()[1:3] for name in hidden] == [["the", "secrets"], ["the", "people"], ["the", "key"]]


def test_a_changed_secret_restarts_the_service(written: Mapping[str, Any]) -> None:
    assert written["read"] == [
        "/etc/hopshive-login/login.yml",
        "/etc/systemd/system/hopshive-login.service",
        "/opt/hopshive/login/current",
        "/etc/hopshive-login/password",
        "/etc/hopshive-login/sealing",
        "/etc/hopshive-login/gateway",
    ]


def test_the_people_are_those_of_the_file_back_end(written: Mapping[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "people.yml"
    path.write_text(written["people"])
    assert PeopleFile(str(path))


def test_the_unit_has_no_more_rights_than_the_cleaners(written: Mapping[str, Any]) -> None:
    text = (ROOT / "roles/cleaner/templates/unit.service.j2").read_text()
    rights = text[text.index("NoNewPrivileges") : text.index("[Install]")]
    assert rights in written["unit"]
    assert "User=hopshive-login\nGroup=hopshive-login\n" in written["unit"]
    start = "/opt/hopshive/login/current/bin/hopshive login serve --config /etc/hopshive-login/login.yml"
    assert f"ExecStart={start}\n" in written["unit"]


def test_the_database_user_may_do_what_the_service_does_and_no_more(
    written: Mapping[str, Any], login_site: LoginSite
) -> None:
    """The user is made before the tables: a privilege on a table that is not there wants CREATE beside it."""
    mariadb = login_site.mariadb
    mariadb.execute(f"DROP DATABASE {STATE}", "CREATE OR REPLACE USER hopshive_login@'%' IDENTIFIED BY 'right'")
    for privilege in written["privileges"].replace("hopshive.", f"{STATE}.").split("/"):
        table, _, rights = privilege.partition(":")
        mariadb.execute(f"GRANT {rights} ON {table} TO hopshive_login@'%'")
    make_tables(mariadb)
    login_site.write_people({ALICE: person(totp=TOTP)})
    login_site.join("sales", "alice")
    login_site.more["database"] = {
        "unix_socket": "",
        "host": "127.0.0.1",
        "port": mariadb.port,
        "user": "hopshive_login",
        "password_file": login_site.write("password", "right"),
    }

    async def all_of_it(service: LoginService) -> str:
        granted = await service.login(Asked(ALICE, PASSWORD_OF_ALICE, pyotp.TOTP(TOTP).now(), "sales", "192.0.2.1"))
        await service.login(Asked("", granted.token))
        with pytest.raises(Denied):
            await service.login(Asked(ALICE, "wrong", address="192.0.2.1"))
        await service.revoke(granted.token, "", "192.0.2.1")
        return granted.user

    assert login_site.run(all_of_it) == "sales__alice"
    database = login_site.database()
    with database.transaction() as tx:
        keys.rotate(tx, keys.Sealer(SEAL, "seal"), 900)
        revocations.prune(tx)
    for forbidden in (
        "INSERT INTO {state}.project_member VALUES ('hr', 'alice', 'owner')",
        "DROP TABLE {state}.login_key",
    ):
        with pytest.raises(DatabaseError, match="command denied"), database.transaction() as tx:
            tx.execute(forbidden)
    database.close()


def test_the_operators_command_is_the_services_own(written: Mapping[str, Any]) -> None:
    assert written["launcher"].endswith('exec /opt/hopshive/login/current/bin/hopshive login "$@"\n')
