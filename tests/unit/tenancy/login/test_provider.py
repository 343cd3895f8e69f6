"""Tokens of the site's identity provider, which a real HTTPS server with discovery document and keys stands for."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from joserfc.jwk import RSAKey

from hopshive.tenancy.login.errors import Denied, LoginError, Unavailable
from hopshive.tenancy.login.service import Asked, Granted, LoginService
from tests.support.login_issuer import AUDIENCE, DISCOVERY, KEYS, Issuer
from tests.support.login_platform import served

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterator

    from tests.support.login_site import LoginSite

LONG_AGO = int(time.time()) - 3600


@pytest.fixture
def issuer(site: LoginSite) -> Iterator[Issuer]:
    found = Issuer()
    with served(found, site.authority.issue("issuer", "localhost")):
        trust(site, found)
        yield found


def trust(site: LoginSite, issuer: Issuer, **more: object) -> None:
    site.more["provider"] = {
        "issuer": issuer.issuer,
        "audience": AUDIENCE,
        "authority": str(site.authority.path),
        "timeout": 2,
        "refetch": 0,
        **more,
    }


def login(site: LoginSite, token: str, name: str = "", database: str = "") -> Granted:
    return site.run(lambda service: service.login(Asked(name, token, "", database, "192.0.2.1")))


def reason(site: LoginSite, token: str, name: str = "") -> str:
    with pytest.raises(Denied) as error:
        login(site, token, name)
    return error.value.reason


def test_a_token_of_the_provider_is_a_password(site: LoginSite, issuer: Issuer) -> None:
    site.join("sales", "alice", "owner")
    found = login(site, issuer.token(), database="sales")
    assert (found.user, found.role) == ("sales__alice", "owner")
    assert 290 <= found.expires_in <= 300
    for name in ("alice", "ALICE", "alice@example.org"):
        assert login(site, issuer.token(email="alice@example.org"), name).user == "alice"
    assert login(site, found.token, database="sales").user == "sales__alice"


def test_keys_may_be_at_a_url_of_the_settings(site: LoginSite, issuer: Issuer) -> None:
    issuer.documents[DISCOVERY] = b"not asked"
    trust(site, issuer, keys_url=issuer.url + KEYS)
    assert login(site, issuer.token()).user == "alice"


@pytest.mark.parametrize("kind", ["RSA", "EC", "Ed25519"])
def test_keys_of_each_kind_verify(site: LoginSite, issuer: Issuer, kind: str) -> None:
    issuer.rotate("second", kind)
    assert login(site, issuer.token("second")).user == "alice"


def test_the_former_name_of_ed25519_is_known(site: LoginSite, issuer: Issuer) -> None:
    """Keycloak writes it still."""
    issuer.rotate("second", "Ed25519")
    assert login(site, issuer.token("second", {"alg": "EdDSA"})).user == "alice"


def test_the_name_claim_and_the_domain_say_who_it_is(site: LoginSite, issuer: Issuer) -> None:
    trust(site, issuer, name_claim="email", domain="Example.org")
    assert login(site, issuer.token(email="bob@example.org")).user == "bob"
    assert reason(site, issuer.token(email="bob@evil.org")) == "a token of another domain"
    assert reason(site, issuer.token(email="bob")) == "a token of another domain"
    assert reason(site, issuer.token()) == "a token without the claim email"


@pytest.mark.parametrize("verified", [False, "false", 0])
def test_an_e_mail_address_that_was_not_verified_names_no_account(
    site: LoginSite, issuer: Issuer, verified: object
) -> None:
    """At many providers a person may type any address that is free, such as one of a person who left."""
    trust(site, issuer, name_claim="email", domain="example.org")
    assert login(site, issuer.token(email="bob@example.org", email_verified=True)).user == "bob"
    found = issuer.token(email="bob@example.org", email_verified=verified)
    assert reason(site, found) == "a token with an e-mail address that was not verified"
    trust(site, issuer)
    assert login(site, found).user == "alice"


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        ({"aud": "another"}, "a token with a wrong claim (aud)"),
        ({"aud": ["another", "more"]}, "a token with a wrong claim (aud)"),
        ({"aud": None}, "a token with a wrong claim (aud)"),
        ({"exp": LONG_AGO, "iat": LONG_AGO - 300}, "a token that expired"),
        ({"exp": None}, "a token with a wrong claim (exp)"),
        ({"iat": None}, "a token with a wrong claim (iat)"),
        ({"nbf": LONG_AGO + 7200}, "a token that is not yet valid"),
        ({"iat": LONG_AGO + 7200, "exp": LONG_AGO + 7300}, "a token that is not yet valid"),
        ({"iat": "now"}, "a token with a moment that is no number"),
        ({"exp": LONG_AGO + 3 * 86400}, "a token of the identity provider that lives longer than a day"),
        ({"typ": "Refresh"}, "a token of the identity provider for another use"),
        ({"cnf": {"x5t#S256": "x"}}, "a token of the identity provider that is bound to a key"),
        ({"preferred_username": None}, "a token without the claim preferred_username"),
        ({"preferred_username": ["alice"]}, "a token without the claim preferred_username"),
        ({"preferred_username": "sales__alice"}, "a token that names no account"),
        ({"preferred_username": "alice/x"}, "a token that names no account"),
    ],
)
def test_a_wrong_claim(site: LoginSite, issuer: Issuer, claims: dict[str, Any], said: str) -> None:
    assert reason(site, issuer.token(**claims)) == said


def test_the_answer_s_token_is_for_the_name_that_was_typed(site: LoginSite, issuer: Issuer) -> None:
    site.join("sales", "alice", "owner")
    mail = "alice@example.org"
    first = login(site, issuer.token(email=mail), mail)
    second = login(site, first.token, mail)
    assert login(site, second.token, mail, "sales").user == "sales__alice"
    assert reason(site, second.token, "bob@example.org") == "a token of another person"


def test_a_token_for_several_audiences_holds_ours(site: LoginSite, issuer: Issuer) -> None:
    assert login(site, issuer.token(aud=["account", AUDIENCE])).user == "alice"


def test_a_token_of_another_issuer_is_none_of_ours_either(site: LoginSite, issuer: Issuer) -> None:
    assert reason(site, issuer.token(iss="https://evil.example.org")) == "a token of an unknown key"
    assert reason(site, issuer.token(iss="hopshive")) == "a token of an unknown key"
    assert reason(site, issuer.token(iss=None)) == "a token of an unknown key"


def test_a_token_is_for_the_name_that_it_says(site: LoginSite, issuer: Issuer) -> None:
    assert reason(site, issuer.token(), "bob") == "a token of another person"


def test_a_service_is_no_person(site: LoginSite, issuer: Issuer) -> None:
    with pytest.raises(LoginError, match="The account hdfs is that of a service"):
        login(site, issuer.token(preferred_username="hdfs"))


def test_a_wrong_signature(site: LoginSite, issuer: Issuer) -> None:
    right = issuer.token()
    head, claims, signature = right.split(".")
    none = encoded({"alg": "none", "kid": "first", "typ": "JWT"})
    # The public key as a secret: a verifier that believes the header would compute the same.
    public = issuer.keys["first"].as_pem(private=False)
    text = f"{encoded({'alg': 'HS256', 'kid': 'first', 'typ': 'JWT'})}.{claims}"
    for wrong in (
        issuer.token(key=RSAKey.generate_key(2048)),
        f"{text}.{written(hmac.digest(public, text.encode(), 'sha256'))}",
        f"{none}.{claims}.",
        f"{none}.{claims}.{signature}",
        f"{head}.{encoded({**decoded(claims), 'preferred_username': 'bob'})}.{signature}",
        right[:-8],
    ):
        assert reason(site, wrong).startswith("a token without a right signature")
    assert reason(site, issuer.token(header={"kid": "encryption"})) == "a token of an unknown key"
    issuer.rotate("weak", "weak RSA")
    assert reason(site, issuer.token("weak")) == "a token of an unknown key"


def test_keys_rotate(site: LoginSite, issuer: Issuer) -> None:
    before = issuer.token()

    async def rotate(service: LoginService) -> list[str]:
        found = [(await service.login(Asked("", before))).user]
        issuer.rotate("second", "EC")
        found += [(await service.login(Asked("", issuer.token(kid)))).user for kid in ("second", "first")]
        return found

    assert site.run(rotate) == ["alice"] * 3
    assert issuer.asked == 2


def test_a_key_that_was_withdrawn_verifies_until_keys_are_fetched_again(site: LoginSite, issuer: Issuer) -> None:
    trust(site, issuer, keep=0.5)
    before = issuer.token()

    async def withdraw(service: LoginService) -> str:
        await service.login(Asked("", before))
        issuer.rotate("second", keep=False)
        await asyncio.sleep(0.6)
        return await refused(service.login(Asked("", before)))

    assert site.run(withdraw) == "a token of an unknown key"


def test_made_up_keys_cause_one_fetch(site: LoginSite, issuer: Issuer) -> None:
    trust(site, issuer, refetch=30)
    site.more["limits"] = {"address": 1000, "refusal_seconds": 0}

    async def flood(service: LoginService) -> list[str]:
        made = [issuer.token(header={"kid": f"made-up-{number}"}) for number in range(20)]
        return await asyncio.gather(*(refused(service.login(Asked("", one))) for one in made))

    assert site.run(flood) == ["a token of an unknown key"] * 20
    assert issuer.asked == 1


def test_wrong_tokens_count_against_the_address(site: LoginSite, issuer: Issuer) -> None:
    site.more["limits"] = {"address": 2, "refusal_seconds": 0}
    for _ in range(2):
        reason(site, issuer.token(aud="another"))
    with pytest.raises(LoginError) as error:
        login(site, issuer.token(aud="another"))
    assert error.value.code == "limited"


@pytest.mark.parametrize("broken", [b"<html>", {"keys": []}, {"keys": "none"}, [], {"keys": [{"kid": "first"}]}])
def test_keys_of_before_verify_while_the_provider_answers_nonsense(
    site: LoginSite, issuer: Issuer, broken: object
) -> None:
    trust(site, issuer, keep=0.1)

    async def breaks(service: LoginService) -> tuple[str, str]:
        await service.login(Asked("", issuer.token()))
        issuer.documents[KEYS] = broken
        await asyncio.sleep(0.2)
        found = (await service.login(Asked("", issuer.token()))).user
        issuer.rotate("second")
        with pytest.raises(Unavailable, match="The identity provider cannot be asked now: try again later"):
            await service.login(Asked("", issuer.token("second")))
        issuer.documents.clear()
        return found, (await service.login(Asked("", issuer.token("second")))).user

    assert site.run(breaks) == ("alice", "alice")


def test_a_provider_that_is_away(site: LoginSite) -> None:
    """Without keys it is a 503 that counts no attempt; with keys, their tokens are accepted."""
    issuer = Issuer()
    pair = site.authority.issue("issuer", "localhost")
    with served(issuer, pair) as port:
        trust(site, issuer, keep=0.1)

    async def away(service: LoginService) -> list[str]:
        with pytest.raises(Unavailable):
            await service.login(Asked("", issuer.token()))
        with served(issuer, pair, port):
            found = [(await service.login(Asked("", issuer.token()))).user]
        await asyncio.sleep(0.2)
        found.append((await service.login(Asked("", issuer.token()))).user)
        return found

    assert site.run(away) == ["alice", "alice"]
    assert site.execute("SELECT SUM(wrong) FROM {state}.login_limit") == [(None,)]


@pytest.mark.parametrize(
    "document",
    [
        {"issuer": "https://another", "jwks_uri": "here"},
        {"issuer": "own", "jwks_uri": "http://keys.example.org/certs"},
        {"issuer": "own", "jwks_uri": ["x"]},
        {"issuer": "own"},
        [],
        b"<html>",
    ],
)
def test_a_discovery_document_that_cannot_be_right_gives_no_keys(
    site: LoginSite, issuer: Issuer, document: object
) -> None:
    if isinstance(document, dict):
        own = {"own": issuer.issuer, "here": issuer.url + KEYS}
        document = {
            name: own.get(value, value) if isinstance(value, str) else value for name, value in document.items()
        }
    issuer.documents[DISCOVERY] = document
    with pytest.raises(Unavailable) as error:
        login(site, issuer.token())
    assert issuer.issuer in error.value.reason
    assert issuer.asked == 0


def test_a_server_of_another_authority_is_no_provider(site: LoginSite, issuer: Issuer) -> None:
    trust(site, issuer, authority="")
    with pytest.raises(Unavailable) as error:
        login(site, issuer.token())
    assert "CERTIFICATE_VERIFY_FAILED" in error.value.reason


def test_a_revocation_reaches_tokens_of_the_provider(site: LoginSite, issuer: Issuer) -> None:
    token = issuer.token()
    assert site.run(lambda service: service.revoke(token, "", "192.0.2.1")) == "alice"
    assert reason(site, token) == "a token that was revoked"


async def refused(work: Awaitable[Granted]) -> str:
    """Why it was refused."""
    with pytest.raises(Denied) as error:
        await work
    return error.value.reason


def written(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).decode().rstrip("=")


def encoded(part: dict[str, Any]) -> str:
    return written(json.dumps(part).encode())


def decoded(part: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    return found
