"""Tokens that are not the service's own, or no longer: each is refused, with its reason for the audit."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey

from hopshive.tenancy.login import tokens
from hopshive.tenancy.login.errors import Denied
from hopshive.tenancy.login.keys import Key, KeyRing
from hopshive.tenancy.login.settings import Tokens

NOW = 1_800_000_000.0
OURS = Tokens()
PRIVATE = ECKey.generate_key("P-256", auto_kid=True)
KID = str(PRIVATE.kid)
KEY = Key(KID, {**PRIVATE.as_dict(private=False), "kid": KID}, NOW - 10, 900, None, PRIVATE)
RING = KeyRing((KEY,))
CLAIMS: dict[str, Any] = {
    "iss": OURS.issuer,
    "aud": OURS.audience,
    "sub": "sales__alice",
    "iat": int(NOW),
    "exp": int(NOW) + 900,
    "issued": int(NOW * 1e6),
}


def token(header: dict[str, Any] | None = None, key: Any = PRIVATE, **claims: Any) -> str:
    found = {name: value for name, value in {**CLAIMS, **claims}.items() if value is not None}
    head = {"alg": "ES256", "kid": KID, **(header or {})}
    return jwt.encode(head, found, key, algorithms=[head["alg"]])


def test_a_right_token() -> None:
    found = tokens.verify(OURS, RING, NOW, token())
    assert (found.project, found.account) == ("sales", "alice")


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "another"},
        {"aud": None},
        {"iss": "another"},
        {"exp": int(NOW)},
        {"exp": None},
        {"iat": int(NOW) + 60},
        {"nbf": int(NOW) + 60},
        {"sub": "a__b__c"},
        {"sub": "alice/admin"},
        {"issued": "now"},
        {"issued": True},
    ],
)
def test_a_wrong_claim(claims: dict[str, Any]) -> None:
    with pytest.raises(Denied):
        tokens.verify(OURS, RING, NOW, token(**claims))


def test_a_wrong_signature() -> None:
    another = ECKey.generate_key("P-256")
    right = token()
    none = base64.urlsafe_b64encode(b'{"alg":"none","kid":"%s"}' % KID.encode()).decode().rstrip("=")
    secret = OctKey.generate_key(256)
    for wrong in (
        token(key=another),
        token({"kid": "unknown"}),
        token({"alg": "HS256"}, secret),
        f"{none}.{right.split('.')[1]}.",
        f"{none}.{right.split('.')[1]}.{right.split('.')[2]}",
        right[:-8],
    ):
        with pytest.raises(Denied):
            tokens.verify(OURS, RING, NOW, wrong)


def test_a_key_verifies_until_its_last_token_has_expired() -> None:
    ring = KeyRing((replace(KEY, expires=NOW + 10),))
    assert tokens.verify(OURS, ring, NOW + 9, token()).account == "alice"
    with pytest.raises(Denied):
        tokens.verify(OURS, ring, NOW + 10, token())
