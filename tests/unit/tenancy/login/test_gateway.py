"""What a gateway asks for the holder of a client certificate, and whose address counts behind proxies."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest

from hopshive.config import ConfigError
from hopshive.tenancy.login.errors import Denied, Malformed
from hopshive.tenancy.login.gateway import names_of, require_gateway, user_of
from hopshive.tenancy.login.settings import Gateway
from tests.support.login_site import ALICE, GATEWAY, PASSWORD

if TYPE_CHECKING:
    import httpx

    from tests.support.login_site import LoginSite, Visit

PROXY = "10.0.0.1"


def basic(secret: str) -> str:
    return "Basic " + base64.b64encode(f"gateway:{secret}".encode()).decode()


def session(site: LoginSite, subject: str, database: str = "", secret: str = GATEWAY, **more: str) -> httpx.Response:
    headers = [("Authorization", basic(secret)), ("X-Hopshive-Subject", subject), ("X-Hopshive-Database", database)]
    return site.visit(lambda ask: ask("GET", "/v1/session", headers, **more))


# --- the session of a certificate -------------------------------------------------------------------------------------------


def test_a_certificate_gets_user_and_token(site: LoginSite) -> None:
    site.join("sales", "alice")
    found = session(site, "CN=alice,O=Site", "sales")
    assert found.status_code == 200
    assert found.headers["x-hopshive-user"] == "sales__alice"
    assert found.headers["cache-control"] == "no-store"
    assert found.content == b""
    token = found.headers["x-hopshive-token"]
    told = site.visit(lambda ask: ask("POST", "/v1/login", body={"name": "", "password": token}))
    assert told.json()["user"] == "sales__alice"


@pytest.mark.parametrize("subject", ["CN=sales__alice", "CN=alice"])
def test_the_answer_has_the_login_of_a_hiveserver2_ready(site: LoginSite, subject: str) -> None:
    """HTTP Basic of account and token: HiveServer2 gives both to the service, with the database of the session."""
    site.join("sales", "alice")
    found = session(site, subject)
    scheme, _, encoded = found.headers["x-hopshive-authorization"].partition(" ")
    name, _, password = base64.b64decode(encoded).decode().partition(":")
    assert (scheme, name, password) == ("Basic", "alice", found.headers["x-hopshive-token"])
    body = {"name": name, "password": password, "database": "sales"}
    assert site.visit(lambda ask: ask("POST", "/v1/login", body=body)).json()["user"] == "sales__alice"


@pytest.mark.parametrize("secret", ["", "wrong", GATEWAY[:-1], GATEWAY + " "])
def test_a_caller_without_the_secret_is_no_gateway(site: LoginSite, secret: str) -> None:
    found = session(site, "CN=alice", secret=secret)
    assert (found.status_code, found.json()["error"]) == (401, "refused")
    assert "x-hopshive-token" not in found.headers


def test_without_a_secret_in_the_settings_an_empty_one_is_wrong(site: LoginSite) -> None:
    site.more["gateway"] = {"secret_file": ""}
    assert session(site, "CN=alice", secret="").status_code == 401
    found = site.visit(lambda ask: ask("GET", "/v1/session", [("X-Hopshive-Subject", "CN=alice")]))
    assert found.status_code == 401


def test_guesses_of_the_secret_are_limited_by_the_address_that_guesses(site: LoginSite) -> None:
    """It writes X-Forwarded-For as it likes, from a proxy's network too."""
    site.more |= {"limits": {"address": 3, "refusal_seconds": 0}, "listen": {"proxies": ["10.0.0.0/8"]}}

    async def guess(ask: Visit) -> list[int]:
        return [
            (
                await ask(
                    "GET",
                    "/v1/session",
                    [("Authorization", basic(f"guess{number}")), ("X-Forwarded-For", f"192.0.2.{number}")],
                    by=PROXY,
                )
            ).status_code
            for number in range(5)
        ]

    assert site.visit(guess) == [401, 401, 401, 429, 429]


@pytest.mark.parametrize(
    ("subject", "database", "status", "error"),
    [
        ("", "", 400, "malformed"),
        ("alice", "", 400, "malformed"),
        ("CN=" + "a" * 1000, "", 400, "malformed"),
        ("O=Site", "", 401, "refused"),
        ("CN=alice,CN=bob", "", 401, "refused"),
        ("CN=alice\\,bob", "", 401, "refused"),
        ("CN=alice@example.org", "", 401, "refused"),
        ("CN=a__b__c", "", 401, "refused"),
        ("CN=alice", "hr", 403, "not_a_member"),
        ("CN=alice", "a__b", 400, "malformed"),
        ("CN=hdfs", "", 403, "forbidden"),
    ],
)
def test_a_refusal_stands_in_a_header_too(
    site: LoginSite, subject: str, database: str, status: int, error: str
) -> None:
    """nginx drops the body of a subrequest."""
    found = session(site, subject, database)
    assert (found.status_code, found.json()["error"]) == (status, error)
    assert json.loads(found.headers["x-hopshive-answer"]) == found.json()
    assert "x-hopshive-token" not in found.headers


@pytest.mark.parametrize(
    ("subject", "user"),
    [
        ("CN=alice", ("", "alice")),
        ("CN=sales__alice,OU=people,DC=example,DC=org", ("sales", "alice")),
        ("emailAddress=alice@example.org,CN=alice,O=Z\\C3\\BCrich", ("", "alice")),
        ("SN=Liddell+GN=Alice,title=x,CN=alice,serialNumber=7,street=y,postalCode=8", ("", "alice")),
        ("1.3.6.1.4.1.99=#0C0161,CN=alice", ("", "alice")),
    ],
)
def test_subjects_as_nginx_writes_them(subject: str, user: tuple[str, str]) -> None:
    assert user_of(Gateway(), subject) == user


def test_another_attribute_may_name_the_user() -> None:
    assert user_of(Gateway(attribute="UID"), "UID=alice,CN=Alice Liddell") == ("", "alice")
    with pytest.raises(Denied):
        user_of(Gateway(attribute="UID"), "CN=alice")
    with pytest.raises(Malformed):
        user_of(Gateway(), "CN=alice,NoSuchName=1")


def test_a_gateway_may_prove_itself_by_a_certificate() -> None:
    settings = Gateway(authority="ca.pem", names=["gateway1"])
    certificate: dict[str, Any] = {"subject": ((("commonName", "gateway1"),),)}
    require_gateway(settings, "", "", certificate)
    require_gateway(settings, "", "", {"subjectAltName": (("DNS", "gateway1"),)})
    for wrong in ({}, {"subject": ((("commonName", "gateway2"),),)}, {"subjectAltName": (("IP Address", "gateway1"),)}):
        with pytest.raises(Denied):
            require_gateway(settings, "", "", wrong)
    assert names_of({}) == set()
    with pytest.raises(Denied):
        require_gateway(Gateway(), "", "", certificate)


# --- X-Forwarded-For --------------------------------------------------------------------------------------------------------


def counted(site: LoginSite, *requests: tuple[str, tuple[str, ...]], proxies: tuple[str, ...] = ("10.0.0.0/8",)) -> int:
    """For how many addresses wrong logins are counted. A request: who asks, and the lines of X-Forwarded-For."""
    site.more["listen"] = {"proxies": list(proxies)}

    async def all_of_them(ask: Visit) -> None:
        for by, lines in requests:
            headers = [("X-Forwarded-For", line) for line in lines]
            answer = await ask("POST", "/v1/login", headers, {"name": "mallory", "password": "x"}, by=by)
            assert answer.status_code == 401

    site.visit(all_of_them)
    ((found,),) = site.execute("SELECT COUNT(*) FROM {state}.login_limit WHERE kind = 'address'")
    return int(found)


def test_clients_behind_a_proxy_are_counted_apart(site: LoginSite) -> None:
    assert counted(site, (PROXY, ("192.0.2.1",)), (PROXY, ("192.0.2.2",)), ("192.0.2.1", ())) == 2


def test_what_a_client_wrote_itself_does_not_count(site: LoginSite) -> None:
    """A proxy adds the address of who asked it at the end."""
    assert counted(site, (PROXY, ("198.51.100.1, 192.0.2.1",)), (PROXY, ("198.51.100.2, 192.0.2.1",))) == 1
    assert counted(site, (PROXY, ("198.51.100.3", "192.0.2.1"))) == 1


def test_a_chain_of_proxies_is_followed_to_the_client(site: LoginSite) -> None:
    assert counted(site, (PROXY, ("198.51.100.1, 192.0.2.1, 10.0.0.2",)), ("192.0.2.1", ())) == 1


def test_without_proxies_the_header_is_not_believed(site: LoginSite) -> None:
    requests = [(PROXY, (f"192.0.2.{number}",)) for number in range(3)]
    assert counted(site, *requests, proxies=()) == 1


def test_only_proxies_are_believed(site: LoginSite) -> None:
    assert counted(site, *((f"203.0.113.{9}", (f"192.0.2.{number}",)) for number in range(3))) == 1


def test_an_address_is_the_same_in_each_writing(site: LoginSite) -> None:
    """IPv4 over IPv6; the network of one IPv6 subscriber; text that is no address counts as one."""
    assert (
        counted(site, (PROXY, ("::ffff:192.0.2.1",)), (PROXY, ("192.0.2.1",)), ("::ffff:10.0.0.1", ("192.0.2.1",))) == 1
    )
    assert counted(site, (PROXY, ("2001:db8::1",)), (PROXY, ("2001:DB8:0:0:ffff::2",))) == 2
    assert counted(site, (PROXY, ("unknown",)), (PROXY, ("unknown",))) == 3


def test_a_proxy_may_be_a_host_name(site: LoginSite, caplog: pytest.LogCaptureFixture) -> None:
    requests = [("127.0.0.1", (f"192.0.2.{number}",)) for number in range(2)]
    assert counted(site, *requests, proxies=("localhost", "no-such-host.invalid")) == 2
    assert "no-such-host.invalid (listen.proxies) has no address" in caplog.text


@pytest.mark.parametrize("proxy", ["10.0.0.0/33", "10.0.0.1/8", "10.0.0.300", "a b", "", "-x", "host/8", "::1::"])
def test_what_can_be_no_proxy_is_refused(site: LoginSite, proxy: str) -> None:
    site.more["listen"] = {"proxies": [proxy]}
    with pytest.raises(ConfigError, match="is no address, no network and no host name"):
        site.settings()


def test_proxies_only_are_counted_by_the_first_of_them(site: LoginSite) -> None:
    assert counted(site, (PROXY, ("10.0.0.3",)), ("10.0.0.3", ())) == 1


def test_a_right_login_behind_a_proxy(site: LoginSite, caplog: pytest.LogCaptureFixture) -> None:
    site.more["listen"] = {"proxies": [PROXY]}
    caplog.set_level("INFO")
    body = {"name": ALICE, "password": PASSWORD}
    answer = site.visit(lambda ask: ask("POST", "/v1/login", [("X-Forwarded-For", "192.0.2.7")], body, by=PROXY))
    assert answer.status_code == 200
    (record,) = [one for one in caplog.records if one.message == "Login accepted."]
    assert record.fields["address"] == "192.0.2.7"  # type: ignore[attr-defined]
