"""Tokens: JWT (RFC 7519) that say who a person is, signed with ES256.

`issued` is the moment of the check that stands behind a token, in microseconds by the clock of the database. A token that was
got with a token keeps it, so that a revocation reaches all that came from one check.
"""

from __future__ import annotations

import base64
import binascii
import json
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from joserfc import jwt
from joserfc.errors import ExpiredTokenError, JoseError
from joserfc.jwk import ECKey

from hopshive.tenancy.login.errors import TOKEN_REFUSED, Denied, Unavailable
from hopshive.tenancy.login.keys import ALGORITHM
from hopshive.tenancy.members import ROLES
from hopshive.tenancy.names import BadName, check_account, parts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hopshive.tenancy.login.keys import KeyRing
    from hopshive.tenancy.login.settings import Tokens

LONGEST = 8192
# Seconds by which the clocks of hosts may differ, for what is not yet valid.
LEEWAY = 5
_TYPE = "JWT"


@dataclass(frozen=True)
class Bearer:
    """What a valid token says about its holder. `checked` and `expires` in seconds since 1970.

    `names`: that the holder may give beside the token. `projects`: roles by project, as the back end had them.
    `login`: the name that the holder typed for it, which the next token keeps.
    """

    account: str
    project: str
    checked: float
    expires: float
    by: str
    names: frozenset[str] = frozenset()
    projects: Mapping[str, str] = field(default_factory=dict)
    login: str = ""


def is_token(text: str) -> bool:
    """Whether it has the form of a JWT: then no back end ever sees it."""
    return text.count(".") == 2 and _part(text, 0).get("alg") is not None


def issuer_of(token: str) -> str:
    """What a token, of which nothing was verified, says about who issued it."""
    return str(_part(token, 1).get("iss", ""))


def issue(settings: Tokens, ring: KeyRing, now: float, bearer: Bearer, login: str = "") -> str:
    """A token for what a bearer is. Raises Unavailable if there is no key."""
    key = ring.signer(now)
    if key is None or key.private is None:
        raise Unavailable("The keys of the login service", "no key signs")
    user = f"{bearer.project}__{bearer.account}" if bearer.project else bearer.account
    claims: dict[str, Any] = {
        "iss": settings.issuer,
        "aud": settings.audience,
        "sub": user,
        "iat": int(now),
        "exp": int(bearer.expires),
        "jti": secrets.token_urlsafe(16),
        "issued": round(bearer.checked * 1e6),
    }
    if login:
        claims["name"] = login
    if bearer.projects:
        claims["projects"] = dict(bearer.projects)
    return jwt.encode({"alg": ALGORITHM, "kid": key.kid, "typ": _TYPE}, claims, key.private, algorithms=[ALGORITHM])


def verify(settings: Tokens, ring: KeyRing, now: float, token: str) -> Bearer:
    """The holder of a token of this service. Raises Denied with the reason."""
    claims = signed(token, ring, now)
    registry = jwt.JWTClaimsRegistry(
        now=int(now),
        iss={"essential": True, "value": settings.issuer},
        aud={"essential": True, "value": settings.audience},
        sub={"essential": True},
        iat={"essential": True},
        exp={"essential": True},
        issued={"essential": True},
    )
    check(claims, registry, now)
    issued = claims["issued"]
    try:
        project, account = parts(claims["sub"])
    except BadName:
        raise refused("a token whose subject is no user") from None
    if not isinstance(issued, int) or isinstance(issued, bool):
        raise refused("a token without the moment of its check")
    login = str(claims.get("name", ""))
    names = frozenset({account, claims["sub"], login or account})
    return Bearer(account, project, issued / 1e6, float(claims["exp"]), "token", names, _projects(claims), login)


def signed(token: str, ring: KeyRing, now: float) -> dict[str, Any]:
    """The claims of a token whose signature is that of a key of ours. Raises Denied."""
    kid = key_of(token)
    key = ring.verifier(kid, now)
    if key is None:
        raise refused("a token of an unknown key")
    return decode(token, ECKey.import_key(key.public), [ALGORITHM])


def key_of(token: str) -> str:
    """The key that a token names in its header, of which nothing was verified."""
    return str(_part(token, 0).get("kid", ""))


def decode(token: str, key: Any, algorithms: list[str]) -> dict[str, Any]:
    """The claims of a token with a right signature of one of the algorithms. Raises Denied."""
    try:
        return jwt.decode(token, key, algorithms=algorithms).claims
    except (JoseError, ValueError, TypeError, binascii.Error) as error:
        raise refused(f"a token without a right signature ({type(error).__name__})") from None


def check(claims: Mapping[str, Any], registry: jwt.JWTClaimsRegistry, now: float) -> None:
    """Raises Denied for claims that the registry refuses. Clocks that differ count for what is not yet valid alone."""
    early = [claims[name] for name in ("nbf", "iat") if name in claims]
    if not all(isinstance(at, int | float) and not isinstance(at, bool) for at in early):
        raise refused("a token with a moment that is no number")
    if any(at > now + LEEWAY for at in early):
        raise refused("a token that is not yet valid")
    try:
        registry.validate(
            {name: value for name, value in claims.items() if name not in ("nbf", "iat")} | _present(claims)
        )
    except ExpiredTokenError:
        raise refused("a token that expired") from None
    except JoseError as error:
        raise refused(f"a token with a wrong claim ({getattr(error, 'claim', None) or type(error).__name__})") from None


def refused(reason: str) -> Denied:
    """The error for a token; `reason` is for the audit."""
    return Denied(reason, TOKEN_REFUSED)


def _present(claims: Mapping[str, Any]) -> dict[str, int]:
    """`iat` is there, and was looked at."""
    return {"iat": 0} if "iat" in claims else {}


def _projects(claims: Mapping[str, Any]) -> dict[str, str]:
    found = claims.get("projects", {})
    return {name: role for name, role in found.items() if role in ROLES} if isinstance(found, dict) else {}


def _part(token: str, number: int) -> dict[str, Any]:
    """One part of a JWT, unverified; empty if it is none."""
    pieces = token.split(".")
    if len(token) > LONGEST or len(pieces) != 3:
        return {}
    piece = pieces[number]
    try:
        found = json.loads(base64.urlsafe_b64decode(piece + "=" * (-len(piece) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def account_of(name: str) -> str:
    """The account that another issuer's token names. Raises Denied."""
    try:
        return check_account(name)
    except BadName:
        raise refused("a token that names no account") from None
