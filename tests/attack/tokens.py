"""Tokens: forged ones, and right ones in the wrong place."""

from __future__ import annotations

import base64
import hmac
import json
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from joserfc import jwt
from joserfc.jwk import ECKey

from hopshive.tenancy.login.keys import Sealer
from tests.attack.attempt import NotHeldError, NotTriedError, attempt
from tests.attack.names import denied, over_http, together

if TYPE_CHECKING:
    from tests.attack.site import Site

ALGORITHM = "ES256"


@dataclass(frozen=True)
class Mint:
    """Signs tokens as the service does, with its own key: what is refused then is refused for what it says."""

    key: ECKey
    kid: str
    claims: dict[str, Any]

    def token(self, header: dict[str, Any] | None = None, key: ECKey | None = None, **changed: object) -> str:
        """A token of the owner, with some claims changed; None takes one away."""
        claims = {name: value for name, value in {**self.claims, **changed}.items() if value is not None}
        head = {"alg": ALGORITHM, "kid": self.kid, "typ": "JWT", **(header or {})}
        return jwt.encode(head, claims, key or self.key, algorithms=[ALGORITHM])


def mint(site: Site) -> Mint:
    """With the key of the service, which the inventory's sealing key opens. Raises NotTriedError."""
    rows = site.state.execute("SELECT kid, sealed FROM login_key WHERE expires IS NULL ORDER BY signs_from")
    if not rows:
        raise NotTriedError("no key of the login service signs")
    kid = bytes(rows[0][0]).decode()
    key = ECKey.import_key(json.loads(Sealer(site.inventory.sealing, "the inventory").open(kid, bytes(rows[0][1]))))
    given = site.web.token(site.cast.owner, site.cast.victim)
    found = Mint(key, kid, part(given, 1))
    answer = site.web.login("", found.token(jti="control"), database=site.cast.victim)
    if answer.status != 200:
        raise NotTriedError(f"control: a token as the service makes them is answered {answer}")
    return found


def part(token: str, number: int) -> dict[str, Any]:
    """A part of a token."""
    piece = token.split(".")[number]
    found: dict[str, Any] = json.loads(base64.urlsafe_b64decode(piece + "=" * (-len(piece) % 4)))
    return found


def packed(content: object) -> str:
    """A part of a token, as JSON."""
    return base64.urlsafe_b64encode(json.dumps(content).encode()).decode().rstrip("=")


def refused(site: Site, token: str) -> str:
    """A token is refused by the login service, and by HiveServer2's two ports. Raises NotHeldError."""
    owner, victim = site.cast.owner, site.cast.victim
    return together(
        lambda: denied(site.web.login(owner.login, token, database=victim)),
        lambda: denied(site.web.login("", token, database=victim)),
        lambda: site.login_refused(owner.login, token, victim),
        lambda: over_http(site, owner.login, token, victim),
    )


@attempt()
def token_of_an_own_key(site: Site) -> str:
    """A token that is signed with a key of the attacker's, under the name of the service's key."""
    made = mint(site)
    return refused(site, made.token(key=ECKey.generate_key("P-256")))


@attempt()
def token_that_brings_its_key(site: Site) -> str:
    """A token that is signed with a key of the attacker's, which stands in its own header."""
    made, own = mint(site), ECKey.generate_key("P-256")
    return refused(site, _signed(made, own, {"alg": ALGORITHM, "jwk": own.as_dict(private=False)}))


@attempt()
def token_of_alg_none(site: Site) -> str:
    """A token without a signature, whose header says that it has none."""
    made = mint(site)
    tokens = [
        f"{packed({'alg': name, 'kid': made.kid, 'typ': 'JWT'})}.{packed(made.claims)}."
        for name in ("none", "None", "NONE", "nOnE")
    ]
    return together(*(partial(refused, site, token) for token in tokens))


@attempt()
def token_signed_with_the_public_key(site: Site) -> str:
    """A token with HS256, whose secret is the public key that the service publishes."""
    made = mint(site)
    published = json.dumps(made.key.as_dict(private=False)).encode()
    for secret in (published, made.key.as_pem(private=False)):
        signed = f"{packed({'alg': 'HS256', 'kid': made.kid, 'typ': 'JWT'})}.{packed(made.claims)}"
        digest = hmac.digest(secret, signed.encode(), "sha256")
        said = refused(site, f"{signed}.{base64.urlsafe_b64encode(digest).decode().rstrip('=')}")
    return said


@attempt()
def token_with_another_signature(site: Site) -> str:
    """A token of the outsider, with the signature as it is, and the owner's name in it."""
    made = mint(site)
    head, _, signature = site.web.token(site.cast.outsider, site.cast.home).split(".")
    return refused(site, f"{head}.{packed(made.claims)}.{signature}")


@attempt()
def token_that_expired(site: Site) -> str:
    """A token that expired a minute ago, rightly signed."""
    now = int(time.time())
    return refused(site, mint(site).token(exp=now - 60, iat=now - 960))


@attempt()
def token_that_never_expires(site: Site) -> str:
    """A token without an end, rightly signed."""
    return refused(site, mint(site).token(exp=None))


@attempt()
def token_of_tomorrow(site: Site) -> str:
    """A token that is not yet valid, rightly signed."""
    now = int(time.time())
    return refused(site, mint(site).token(iat=now + 3600, nbf=now + 3600, exp=now + 7200))


@attempt()
def token_for_another_service(site: Site) -> str:
    """A token of another audience, rightly signed."""
    return refused(site, mint(site).token(aud="another service"))


@attempt()
def token_of_another_issuer(site: Site) -> str:
    """A token of another issuer, rightly signed."""
    return refused(site, mint(site).token(iss="https://another.example.org"))


@attempt()
def token_of_a_service(site: Site) -> str:
    """Tokens of HiveServer2's user, of HDFS's superuser, and of names that a shell or a path would read otherwise."""
    made = mint(site)
    subs = (
        "hive",
        "hdfs",
        "root",
        f"{site.cast.victim}__hive",
        "sales__../../hive",
        "a__b__c",
        "",
        "SALES__ALICE",
    )

    def tried(sub: str) -> str:
        return denied(site.web.login("", made.token(sub=sub, name=None)))

    return together(*(partial(tried, sub) for sub in subs))


@attempt()
def token_of_a_key_that_was_rotated_out(site: Site) -> str:
    """A token of a key that was the service's own, whose last token has expired."""
    made, old = mint(site), ECKey.generate_key("P-256", auto_kid=True)
    kid = str(old.kid)
    public = {**old.as_dict(private=False), "kid": kid, "use": "sig", "alg": ALGORITHM}
    sealed = Sealer(site.inventory.sealing, "the inventory").seal(kid, json.dumps(old.as_dict(private=True)).encode())
    row = (kid.encode(), json.dumps(public).encode(), sealed)
    token = _signed(made, old, {"alg": ALGORITHM, "kid": kid})
    insert = (
        "INSERT INTO login_key (kid, public, sealed, signs_from, lifetime, expires) VALUES"
        " (%s, %s, %s, UTC_TIMESTAMP(6) - INTERVAL 1 DAY, 900, UTC_TIMESTAMP(6) {sign} INTERVAL 1 HOUR)"
    )
    try:
        site.state.execute(insert.format(sign="+"), row)
        answer = site.web.login("", token, database=site.cast.victim)
        if answer.status != 200:
            raise NotTriedError(f"control: before its end the key's token is answered {answer}")
        site.state.execute(
            "UPDATE login_key SET expires = UTC_TIMESTAMP(6) - INTERVAL 1 MINUTE WHERE kid = %s", row[:1]
        )
        # Replicas read the keys each 5 s; they know the end from the first look at the latest then.
        time.sleep(6)
        return refused(site, token)
    finally:
        site.state.execute("DELETE FROM login_key WHERE kid = %s", row[:1])


@attempt()
def token_whose_key_is_a_path(site: Site) -> str:
    """Tokens whose key is named by a path, an URL, and a piece of SQL."""
    made, own = mint(site), ECKey.generate_key("P-256")
    kids = ("../../../../dev/null", "https://evil.example.org/key", "' UNION SELECT 'x' -- ", "")
    return together(*(partial(refused, site, _signed(made, own, {"alg": ALGORITHM, "kid": kid})) for kid in kids))


@attempt()
def token_of_a_hundred_kilobytes(site: Site) -> str:
    """A token that is far too long."""
    return denied(site.web.login("", mint(site).token(more="x" * 100_000)))


@attempt()
def token_of_another_project(site: Site) -> str:
    """The outsider's own token, for a session in the victim's project."""
    me = site.cast.outsider
    token = site.web.token(me, site.cast.home)
    denied(site.web.login(me.login, token, database=site.cast.victim), 403)
    return site.login_refused(me.login, token, site.cast.victim)


@attempt()
def token_under_another_name(site: Site) -> str:
    """The outsider's own token with the owner's name."""
    token = site.web.token(site.cast.outsider, site.cast.home)
    denied(site.web.login(site.cast.owner.login, token), 401)
    return site.login_refused(site.cast.owner.login, token, site.cast.victim)


@attempt()
def roles_in_a_token(site: Site) -> str:
    """A token that says itself of which projects its holder is an owner, where the table says who is."""
    me = site.cast.outsider
    made = mint(site)
    token = made.token(
        sub=me.account, name=me.login, projects={site.cast.victim: "owner"}, issued=round(time.time() * 1e6)
    )
    return denied(site.web.login(me.login, token, database=site.cast.victim), 403)


@attempt()
def token_that_was_revoked(site: Site) -> str:
    """A token after its holder has revoked all tokens: at the service, and at HiveServer2."""
    me = site.cast.outsider
    token = site.web.token(me, site.cast.home)
    with site.session(password=token) as session:
        if session.user != site.cast.outsider_user:
            raise NotTriedError("control: the token opens no session")
    revoked = site.web.post("/v1/revoke", {}, {"Authorization": f"Bearer {token}"})
    if revoked.status != 200:
        raise NotTriedError(f"control: the revocation is answered {revoked}")
    try:
        denied(site.web.login(me.login, token, database=site.cast.home), 401)
        return site.login_refused(me.login, token, site.cast.home)
    finally:
        site.state.execute("DELETE FROM login_revocation WHERE account = %s", (me.account.encode(),))


@attempt()
def tokens_of_another_revoked(site: Site) -> str:
    """The outsider revokes the owner's tokens: everybody could end the work of others."""
    mine, theirs = site.web.token(site.cast.outsider), site.web.token(site.cast.owner)
    header = {"Authorization": f"Bearer {mine}"}
    said = denied(site.web.post("/v1/revoke", {"name": site.cast.owner.account}, header), 403)
    if site.web.login(site.cast.owner.login, theirs).status != 200:
        raise NotHeldError("the owner's token is refused afterwards")
    return said


@attempt()
def tokens_revoked_without_one(site: Site) -> str:
    """A revocation without a token, and with a forged one."""
    owner = site.cast.owner.account
    denied(site.web.post("/v1/revoke", {"name": owner}), 401)
    forged = f"{packed({'alg': 'none'})}.{packed({'sub': owner})}."
    return denied(site.web.post("/v1/revoke", {"name": owner}, {"Authorization": f"Bearer {forged}"}), 401)


@attempt()
def keys_that_are_published(site: Site) -> str:
    """The private half of a key among the public keys."""
    answer = site.web.ask(site.lab.one("login"), 9443, path="/.well-known/jwks.json")
    secret = {"d", "p", "q", "k", "sealed"}
    if found := [one for one in answer.fields["keys"] if secret & set(one)]:
        raise NotHeldError(f"a key has {sorted(secret & set(found[0]))}")
    return f"{len(answer.fields['keys'])} public keys"


def _signed(made: Mint, key: ECKey, header: dict[str, Any]) -> str:
    return jwt.encode({"typ": "JWT", **header}, made.claims, key, algorithms=[ALGORITHM])
