"""The back ends over the network, and a process that serves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hopshive.tenancy.login.errors import Denied, LoginError, Unavailable
from hopshive.tenancy.login.service import Asked, Granted
from tests.support.login_directory import ADMIN, ADMIN_PASSWORD, BASE, run_slapd
from tests.support.login_platform import Platform, served
from tests.support.login_site import ALICE, PASSWORD
from tests.support.patience import within
from tests.support.servers import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.login_site import LoginSite


def login(site: LoginSite, name: str, password: str, code: str = "") -> Granted:
    return site.run(lambda service: service.login(Asked(name, password, code)))


def test_a_directory(site: LoginSite, tmp_path: Path) -> None:
    with run_slapd(tmp_path / "slapd", site.authority.path, site.authority.issue("directory", "localhost")) as slapd:
        for server in (slapd.plain, slapd.secure):
            secret = site.write("bind", ADMIN_PASSWORD)
            site.more = {
                "backend": "ldap",
                "ldap": {"servers": [server], "authority": str(site.authority.path), "base": BASE, "bind_dn": ADMIN}
                | {"bind_password_file": secret},
            }
            assert login(site, ALICE, "wonder:land").user == "alice"
            for name, password in (("alice", ""), ("alice", "x"), ("*", "wonder:land"), ("mallory", "x")):
                with pytest.raises(Denied):
                    login(site, name, password)
    with pytest.raises(Unavailable):
        login(site, ALICE, "wonder:land")


@pytest.mark.wall_time
@pytest.mark.parametrize(
    "mode",
    [
        "nonsense",
        "redirect",
        "error",
        "created",
        "no cookie",
        "silent",
        "drip",
        "huge",
        "no json",
        "no account",
        "another",
        "profile redirect",
    ],
)
def test_a_platform_that_misbehaves_lets_no_person_in(site: LoginSite, mode: str) -> None:
    platform = Platform()
    platform.people[ALICE] = (PASSWORD, "123456", "alice")
    with served(platform, site.authority.issue("platform", "localhost")):
        site.more = {"backend": "platform"}
        site.more["platform"] = {"url": platform.url, "authority": str(site.authority.path), "timeout": 1}
        assert login(site, ALICE, PASSWORD, "123456").user == "alice"
        with pytest.raises(Denied):
            login(site, ALICE, PASSWORD)
        platform.mode = mode
        with pytest.raises(LoginError) as error, within(3):
            login(site, ALICE, PASSWORD, "123456")
        assert error.value.code == "unavailable"


def test_a_process(site: LoginSite) -> None:
    with site.replica("one") as replica:
        wait_until(replica.healthy, "the replica", replica.log)
        assert replica.login(ALICE, PASSWORD).json["user"] == "alice"
        assert replica.login(ALICE, "wrong").json["error"] == "refused"
        assert replica.ask("GET", "/v1/nothing").status == 404
        assert replica.ask("GET", "/v1/login").status == 405
        assert replica.ask("POST", "/v1/login", [1]).status == 400
        assert len(replica.ask("GET", "/.well-known/jwks.json").json["keys"]) == 1
        assert replica.ask("GET", "/v1/session", headers={"X-Hopshive-Subject": "CN=alice"}).status == 401
        assert b"hopshive_login_logins_total" in replica.ask("GET", "/metrics").body
        assert PASSWORD not in replica.log.read_text()
        replica.process.terminate()
        assert replica.process.wait(15) == 0
