"""An identity provider (OpenID Connect): a real HTTPS server with a discovery document and keys that rotate."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from joserfc import jwt
from joserfc.jwk import ECKey, OKPKey, RSAKey

if TYPE_CHECKING:
    from tests.support.login_platform import Handler

AUDIENCE = "hive"
REALM = "/realms/site"
DISCOVERY = f"{REALM}/.well-known/openid-configuration"
KEYS = f"{REALM}/certs"


class Issuer:
    """`documents`: what it answers by path; a path that is not there answers 404. `asked` counts fetches of keys."""

    def __init__(self) -> None:
        self.url = ""
        self.asked = 0
        self.keys: dict[str, Any] = {}
        self.documents: dict[str, object] = {}
        self.rotate("first")

    @property
    def issuer(self) -> str:
        """What it calls itself."""
        return self.url + REALM

    def rotate(self, kid: str, kind: str = "RSA", keep: bool = True) -> None:
        """Publish another key, beside those of before or in their place."""
        made: dict[str, Any] = {
            "RSA": lambda: RSAKey.generate_key(2048),
            "weak RSA": lambda: RSAKey.generate_key(1024),
            "EC": lambda: ECKey.generate_key("P-256"),
            "Ed25519": lambda: OKPKey.generate_key("Ed25519"),
        }
        self.keys = {**(self.keys if keep else {}), kid: made[kind]()}

    def token(self, kid: str = "first", header: dict[str, object] | None = None, key: Any = None, **claims: Any) -> str:
        """A token for alice; a claim of None is left out."""
        now = int(time.time())
        found = {
            "iss": self.issuer,
            "aud": AUDIENCE,
            "sub": "f:1:2",
            "typ": "Bearer",
            "iat": now,
            "exp": now + 300,
            "preferred_username": "alice",
            **claims,
        }
        own = key or self.keys[kid]
        algorithm = {"RSA": "RS256", "EC": "ES256", "OKP": "Ed25519"}[own.key_type] if key is None else "RS256"
        head: dict[str, Any] = {"alg": algorithm, "kid": kid, "typ": "JWT", **(header or {})}
        return jwt.encode(
            head, {name: value for name, value in found.items() if value is not None}, own, algorithms=[head["alg"]]
        )

    def published(self) -> dict[str, object]:
        """The public keys, beside one that is not for signatures."""
        known = [
            {**key.as_dict(private=False), "kid": kid, "use": "sig", "alg": "RS256"}
            if key.key_type == "RSA"
            else {**key.as_dict(private=False), "kid": kid, "use": "sig"}
            for kid, key in self.keys.items()
        ]
        return {"keys": [*known, {**known[0], "kid": "encryption", "use": "enc"}]}

    def get(self, handler: Handler) -> None:
        """Answer the discovery document and the keys."""
        documents: dict[str, object] = {
            DISCOVERY: {"issuer": self.issuer, "jwks_uri": self.url + KEYS},
            KEYS: self.published(),
            **self.documents,
        }
        self.asked += handler.path == KEYS
        found = documents.get(handler.path)
        if found is None:
            handler.answer(404, b"", {})
        else:
            handler.answer(200, found if isinstance(found, bytes) else json.dumps(found).encode(), {})

    def post(self, handler: Handler, _: bytes) -> None:
        """It takes no passwords here."""
        handler.answer(405, b"", {})
