"""Tokens of a real Keycloak: those that the login service accepts, those that it refuses, and what Keycloak's failures do."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import secrets
import subprocess
import time
from typing import TYPE_CHECKING, Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey

from hopshive.tenancy.login.errors import Denied, LoginError, NotAMember
from hopshive.tenancy.login.service import Asked, Granted, LoginService
from tests.docs.page import read
from tests.support.keycloak import AUDIENCE, PASSWORD, SECRET, Keycloak, TokenRefused, unpacked_keycloak
from tests.support.servers import wait_until, write_script

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.authority import Authority
    from tests.support.login_site import LoginSite

CLIENT = "192.0.2.1"
# The host of the page.
HOST = "keycloak.example.org"
# Seconds after which keys are fetched again, in tests that change them.
KEEP = 0.2
DAYS = str(3 * 86400)


@pytest.fixture(scope="module")
def keycloak(tmp_path_factory: pytest.TempPathFactory, authority: Authority) -> Iterator[Keycloak]:
    """The realm `site` as docs/login.md sets it up, and another realm that is alike."""
    pair = authority.issue("keycloak", "localhost", HOST)
    with unpacked_keycloak(tmp_path_factory.mktemp("keycloak"), pair, authority.path) as made:
        made.start()
        for realm in ("site", "another"):
            made.make_realm(realm)
            made.make_client(realm, "hive-login")
            for user in ("alice", "bob"):
                made.make_user(realm, user)
        made.make_program("site", "loader")
        yield made


@pytest.fixture
def site(login_site: LoginSite, keycloak: Keycloak) -> LoginSite:
    """A site that accepts tokens of the realm `site`."""
    trust(login_site, keycloak)
    return login_site


def trust(site: LoginSite, keycloak: Keycloak, realm: str = "site", **more: object) -> None:
    site.more["provider"] = {
        "issuer": keycloak.issuer(realm),
        "audience": AUDIENCE,
        "authority": str(site.authority.path),
        **more,
    }


def login(site: LoginSite, token: str, name: str = "", database: str = "") -> Granted:
    return site.run(lambda service: service.login(Asked(name, token, "", database, CLIENT)))


def reason(site: LoginSite, token: str, name: str = "") -> str:
    return site.run(lambda service: why(service, token, name))


async def accepted(service: LoginService, token: str) -> str:
    return (await service.login(Asked("", token, "", "", CLIENT))).user


async def why(service: LoginService, token: str, name: str = "") -> str:
    """The reason of a refusal, as the audit has it."""
    with pytest.raises(Denied) as error:
        await service.login(Asked(name, token, "", "", CLIENT))
    return error.value.reason


def part(token: str, number: int) -> dict[str, Any]:
    text = token.split(".")[number]
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    return found


# --- accepted ---------------------------------------------------------------------------------------------------------


def test_a_token_of_a_person_is_a_password(site: LoginSite, keycloak: Keycloak) -> None:
    site.join("sales", "alice", "owner")
    found = login(site, keycloak.token())
    assert (found.user, found.account, found.project) == ("alice", "alice", "")
    # Keycloak's default is five minutes: the service's own token does not live longer.
    assert 280 <= found.expires_in <= 300
    for name in ("alice", "ALICE", "alice@example.org"):
        assert login(site, keycloak.token(), name).user == "alice"
    assert reason(site, keycloak.token(), "bob") == "a token of another person"


def test_the_commands_of_the_page_get_tokens(site: LoginSite, keycloak: Keycloak, tmp_path: Path) -> None:
    blocks = [[command.text for command in block.commands] for block in read("docs/login.md") if not block.language]
    (commands,) = [block for block in blocks if any(HOST in command for command in block)]
    secret, programs = tmp_path / "secret", tmp_path / "bin"
    secret.write_text(f"{SECRET}\n")
    programs.mkdir()
    write_script(programs / "curl", ["/usr/bin/curl", "--connect-to", f"{HOST}:443:localhost:{keycloak.port}"])
    script = "\necho\n".join(commands).replace("/etc/ssl/site/authority.pem", str(site.authority.path))
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script.replace("/etc/loader/secret", str(secret))],
        input=f"{PASSWORD}\n",
        env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    tokens = [json.loads(line)["access_token"] for line in done.stdout.splitlines() if line]
    assert [login(site, token).account for token in tokens] == ["alice", "service-account-loader"]


def test_the_table_says_who_is_a_member(site: LoginSite, keycloak: Keycloak) -> None:
    site.join("sales", "alice", "owner")
    found = login(site, keycloak.token(), database="sales")
    assert (found.user, found.role) == ("sales__alice", "owner")
    assert login(site, found.token, database="sales").user == "sales__alice"
    with pytest.raises(NotAMember):
        login(site, keycloak.token(user="bob"), database="sales")


def test_a_token_names_further_audiences_too(site: LoginSite, keycloak: Keycloak) -> None:
    token = keycloak.token()
    assert set(part(token, 1)["aud"]) == {AUDIENCE, "account"}
    assert login(site, token).user == "alice"


def test_a_program_has_an_account_of_its_own(site: LoginSite, keycloak: Keycloak) -> None:
    site.join("sales", "service-account-loader", "member")
    found = login(site, keycloak.program_token("site", "loader"), database="sales")
    assert (found.account, found.user) == ("service-account-loader", "sales__service-account-loader")


def test_an_e_mail_address_names_the_account(site: LoginSite, keycloak: Keycloak) -> None:
    keycloak.make_user("site", "k4711", email="Carol@Example.org")
    trust(site, keycloak, name_claim="email", domain="example.org")
    assert login(site, keycloak.token(user="k4711")).user == "carol"
    assert login(site, keycloak.token(), "alice@example.org").user == "alice"
    trust(site, keycloak, name_claim="email", domain="example.com")
    assert reason(site, keycloak.token()) == "a token of another domain"
    trust(site, keycloak, name_claim="email")
    assert reason(site, keycloak.token()) == "a token that names no account"


def test_a_program_has_no_e_mail_address(site: LoginSite, keycloak: Keycloak) -> None:
    trust(site, keycloak, name_claim="email", domain="example.org")
    assert reason(site, keycloak.program_token("site", "loader")) == "a token without the claim email"


def test_an_e_mail_address_that_a_person_typed_names_no_account(site: LoginSite, keycloak: Keycloak) -> None:
    """Keycloak lets people change their own address to any that no other user of the realm has."""
    keycloak.make_user("site", "mallory")
    trust(site, keycloak, name_claim="email", domain="example.org")
    assert login(site, keycloak.token(user="mallory")).user == "mallory"
    keycloak.own_account("site", keycloak.token(user="mallory"), email="director@example.org")
    token = keycloak.token(user="mallory")
    assert part(token, 1)["email"] == "director@example.org"
    assert reason(site, token) == "a token with an e-mail address that was not verified"
    trust(site, keycloak)
    assert login(site, token).user == "mallory"


@pytest.mark.parametrize(
    ("algorithm", "kind", "config"),
    [
        ("RS512", "rsa-generated", {"algorithm": "RS512"}),
        ("PS256", "rsa-generated", {"algorithm": "PS256"}),
        ("ES256", "ecdsa-generated", {"ecdsaEllipticCurveKey": "P-256"}),
        ("ES384", "ecdsa-generated", {"ecdsaEllipticCurveKey": "P-384"}),
        ("ES512", "ecdsa-generated", {"ecdsaEllipticCurveKey": "P-521"}),
        ("EdDSA", "eddsa-generated", {"eddsaEllipticCurveKey": "Ed25519"}),
    ],
)
def test_a_signature_of_each_kind(
    site: LoginSite, keycloak: Keycloak, algorithm: str, kind: str, config: dict[str, str]
) -> None:
    client = f"signs-{algorithm}"
    keycloak.add_key("site", client, kind, **config)
    keycloak.make_client("site", client, attributes={"access.token.signed.response.alg": algorithm})
    token = keycloak.token(client=client)
    assert part(token, 0)["alg"] == algorithm
    assert login(site, token).user == "alice"


def test_the_type_of_rfc_9068(site: LoginSite, keycloak: Keycloak) -> None:
    keycloak.make_client("site", "rfc9068", attributes={"access.token.header.type.rfc9068": "true"})
    token = keycloak.token(client="rfc9068")
    assert part(token, 0)["typ"] == "at+jwt"
    assert login(site, token).user == "alice"


# --- refused ----------------------------------------------------------------------------------------------------------


def test_an_expired_token(site: LoginSite, keycloak: Keycloak) -> None:
    keycloak.make_client("site", "brief", attributes={"access.token.lifespan": "2"})
    token = keycloak.token(client="brief")
    assert login(site, token).expires_in <= 2
    time.sleep(max(0, part(token, 1)["exp"] + 1.5 - time.time()))
    assert reason(site, token) == "a token that expired"


def test_a_token_that_lives_longer_than_a_day(site: LoginSite, keycloak: Keycloak) -> None:
    keycloak.make_realm("long", ssoSessionMaxLifespan=DAYS, ssoSessionIdleTimeout=DAYS)
    keycloak.make_client("long", "hive-login", attributes={"access.token.lifespan": DAYS})
    keycloak.make_user("long", "alice")
    trust(site, keycloak, "long")
    assert reason(site, keycloak.token("long")) == "a token of the identity provider that lives longer than a day"


def test_a_token_of_another_realm(site: LoginSite, keycloak: Keycloak) -> None:
    token = keycloak.token("another")
    assert reason(site, token) == "a token of an unknown key"
    trust(site, keycloak, "another")
    assert login(site, token).user == "alice"


def test_a_token_of_another_realm_that_calls_itself_ours(site: LoginSite, keycloak: Keycloak) -> None:
    head, _, signature = keycloak.token("another").split(".")
    claims = keycloak.token().split(".")[1]
    assert reason(site, f"{head}.{claims}.{signature}") == "a token of an unknown key"


def test_a_token_for_another_audience(site: LoginSite, keycloak: Keycloak) -> None:
    keycloak.make_client("site", "elsewhere", audience=False)
    assert reason(site, keycloak.token(client="elsewhere")) == "a token with a wrong claim (aud)"


def test_tokens_that_are_no_access_tokens(site: LoginSite, keycloak: Keycloak) -> None:
    found = keycloak.tokens("site", "hive-login", username="alice", password=PASSWORD, scope="openid offline_access")
    assert login(site, found["access_token"]).user == "alice"
    assert reason(site, found["id_token"]) == "a token with a wrong claim (aud)"
    # Keycloak signs it with a secret of its own.
    assert reason(site, found["refresh_token"]) == "a token of an unknown key"
    usual = keycloak.tokens("site", "hive-login", username="alice", password=PASSWORD)
    assert reason(site, usual["refresh_token"]) == "a token of an unknown key"


def test_an_id_token_counts_if_its_client_is_the_audience(site: LoginSite, keycloak: Keycloak) -> None:
    """It has no other audience. Some providers have no other tokens that can be verified."""
    keycloak.make_client("site", AUDIENCE)
    found = keycloak.tokens("site", AUDIENCE, username="alice", password=PASSWORD)
    assert login(site, found["id_token"]).user == "alice"


def test_a_token_signed_with_a_secret(site: LoginSite, keycloak: Keycloak) -> None:
    keycloak.add_key("site", "hmac", "hmac-generated", algorithm="HS256")
    keycloak.make_client("site", "signs-HS256", attributes={"access.token.signed.response.alg": "HS256"})
    token = keycloak.token(client="signs-HS256")
    assert part(token, 0)["alg"] == "HS256"
    assert reason(site, token) == "a token of an unknown key"


def test_a_lightweight_token_says_too_little(site: LoginSite, keycloak: Keycloak) -> None:
    attributes = {"client.use.lightweight.access.token.enabled": "true"}
    keycloak.make_client("site", "light", attributes=attributes)
    assert reason(site, keycloak.token(client="light")) == "a token with a wrong claim (aud)"


def test_a_token_that_is_bound_to_a_key_of_its_client(site: LoginSite, keycloak: Keycloak) -> None:
    """The holder would have to prove that it has the key (RFC 9449), and a login has no place for that."""
    key = ECKey.generate_key("P-256")
    endpoint = f"{keycloak.issuer('site')}/protocol/openid-connect/token"
    head = {"typ": "dpop+jwt", "alg": "ES256", "jwk": key.as_dict(private=False)}
    claims = {
        "htm": "POST",
        "htu": endpoint,
        "iat": int(time.time()),
        "jti": secrets.token_urlsafe(),
    }
    proof = jwt.encode(head, claims, key, algorithms=["ES256"])
    found = keycloak.tokens("site", "hive-login", proof=proof, username="alice", password=PASSWORD)
    assert found["token_type"] == "DPoP"
    assert reason(site, found["access_token"]) == "a token of the identity provider for another use"


def test_a_user_name_that_is_no_account(site: LoginSite, keycloak: Keycloak) -> None:
    for user in ("dave@example.org", "sales__dave"):
        keycloak.make_user("site", user, email=f"{len(user)}@example.org")
        assert reason(site, keycloak.token(user=user)) == "a token that names no account"


def test_a_user_with_the_name_of_a_service(site: LoginSite, keycloak: Keycloak) -> None:
    keycloak.make_user("site", "hdfs")
    with pytest.raises(LoginError, match="The account hdfs is that of a service"):
        login(site, keycloak.token(user="hdfs"))


# --- what changes -----------------------------------------------------------------------------------------------------


def test_keys_rotate(site: LoginSite, keycloak: Keycloak) -> None:
    """A new key counts at once, an old one as long as Keycloak publishes it."""
    keycloak.make_realm("rotated")
    keycloak.make_client("rotated", "hive-login")
    keycloak.make_user("rotated", "alice")
    trust(site, keycloak, "rotated", keep=KEEP, refetch=0)

    async def rotate(service: LoginService) -> str:
        old = keycloak.token("rotated")
        assert await accepted(service, old) == "alice"
        keycloak.add_key("rotated", "second")
        new = keycloak.token("rotated")
        assert part(new, 0)["kid"] != part(old, 0)["kid"]
        assert await accepted(service, new) == "alice"
        assert await accepted(service, old) == "alice"
        keycloak.change_key("rotated", "rsa-generated", active="false")
        await asyncio.sleep(2 * KEEP)
        assert await accepted(service, old) == "alice"
        keycloak.change_key("rotated", "rsa-generated", enabled="false")
        await asyncio.sleep(2 * KEEP)
        assert await accepted(service, new) == "alice"
        return await why(service, old)

    assert site.run(rotate) == "a token of an unknown key"


def test_a_user_who_was_disabled(site: LoginSite, keycloak: Keycloak) -> None:
    """Keycloak gives no new token. One that it gave counts to its end, unless it is revoked here."""
    keycloak.make_user("site", "erin")
    token = keycloak.token(user="erin")
    own = login(site, token).token
    keycloak.change_user("site", "erin", enabled=False)
    with pytest.raises(TokenRefused, match="invalid_grant: Account disabled"):
        keycloak.token(user="erin")
    assert login(site, token).user == "erin"
    assert site.run(lambda service: service.revoke(token, "", CLIENT)) == "erin"
    assert reason(site, token) == "a token that was revoked"
    assert reason(site, own) == "a token that was revoked"
    keycloak.change_user("site", "erin", enabled=True)
    time.sleep(1)
    assert login(site, keycloak.token(user="erin")).user == "erin"


def test_a_session_that_ended(site: LoginSite, keycloak: Keycloak) -> None:
    """Access tokens of it count to their end too."""
    found = keycloak.tokens("site", "hive-login", username="bob", password=PASSWORD)
    (user,) = keycloak.admin("GET", "/site/users?exact=true&username=bob")
    keycloak.admin("POST", f"/site/users/{user['id']}/logout")
    with pytest.raises(TokenRefused, match="invalid_grant"):
        keycloak.tokens("site", "hive-login", grant_type="refresh_token", refresh_token=found["refresh_token"])
    assert login(site, found["access_token"]).user == "bob"


# --- a process, and Keycloak's end ------------------------------------------------------------------------------------


def test_what_a_replica_answers_and_logs(site: LoginSite, keycloak: Keycloak) -> None:
    site.join("sales", "alice", "owner")
    right, wrong = keycloak.token(), keycloak.token("another")
    with site.replica("one") as replica:
        wait_until(replica.healthy, "the replica", replica.log)
        answer = replica.login("", right, database="sales")
        found = answer.json
        assert (answer.status, found["user"], found["role"]) == (200, "sales__alice", "owner")
        refusals = [replica.login("", wrong), replica.login("", right, database="plans")]
        said = [(one.status, one.json["error"], one.json["message"]) for one in refusals]
        assert said == [
            (401, "refused", "The token is not valid, or no longer valid: log in again."),
            (403, "not_a_member", "alice is not a member of the project plans, or there is no such project."),
        ]
        log = replica.log.read_text()
    assert "a token of an unknown key" in log
    assert not [one for token in (right, wrong, found["token"]) for one in token.split(".")[1:] if one in log]


def test_keycloak_is_away(site: LoginSite, keycloak: Keycloak) -> None:
    """A replica that has keys is asked first with a token of a known key, then with one of a key that is new."""
    trust(site, keycloak, keep=KEEP, refetch=0, timeout=1)
    known = keycloak.token()
    with site.replica("one") as replica, site.replica("two") as keyless:
        for one in (replica, keyless):
            wait_until(one.healthy, "the replica", one.log)
        assert replica.login("", known).status == 200
        keycloak.add_key("site", "late")
        late = keycloak.token()
        time.sleep(2 * KEEP)
        sentence = "The identity provider cannot be asked now: try again later."
        for broken, said in ((keycloak.frozen, "no answer within 1 s"), (keycloak.away, "ConnectError")):
            with broken():
                assert replica.login("", known).json["user"] == "alice"
                for answer in (replica.login("", late), keyless.login("", known)):
                    found = answer.json
                    assert (answer.status, found["error"], found["message"]) == (503, "unavailable", sentence)
                assert replica.healthy()
            assert f"{keycloak.issuer('site')}/.well-known/openid-configuration: {said}" in replica.log.read_text()
        for one, token in ((replica, late), (replica, known), (keyless, known)):
            assert one.login("", token).json["user"] == "alice"
    assert site.execute("SELECT SUM(wrong) FROM {state}.login_limit") == [(None,)]
