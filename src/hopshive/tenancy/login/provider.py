"""Tokens of the site's own identity provider (OpenID Connect): verified by the keys that it publishes.

The keys are at `keys_url`, or where the provider's discovery document says. They are fetched again after `keep` seconds, or
when a token names an unknown one. Tokens that name made-up keys cause no more than one fetch in `refetch` seconds. While the
provider does not answer, the keys of before verify, and a token of another key is answered 503.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import ECKey, KeySet, OKPKey, RSAKey

from hopshive.tenancy.login.errors import Unavailable
from hopshive.tenancy.login.settings import DAY, url_problems
from hopshive.tenancy.login.tokens import Bearer, account_of, check, decode, key_of, refused
from hopshive.tenancy.login.web import Web, WebError, context

if TYPE_CHECKING:
    from typing import Any

    from hopshive.tenancy.login.settings import Provider

log = logging.getLogger(__name__)

TITLE = "The identity provider"
# With a key that others know too (HS256), each of its clients could issue tokens.
ALGORITHMS = ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA", "Ed25519"]
# What Keycloak writes into `typ` of tokens for a resource, and of those that say who a person is.
_USES = ("Bearer", "ID", None)
# Below the issuer (OpenID Connect Discovery 1.0, section 4).
DISCOVERY = "/.well-known/openid-configuration"
# The claim that has an e-mail address (OpenID Connect Core 1.0, section 5.1).
EMAIL = "email"
# Bits of an RSA key.
_LEAST_BITS = 2048


class IdentityProvider:
    """For one event loop."""

    def __init__(self, settings: Provider) -> None:
        self._settings = settings
        self._web = Web(context(settings.authority, "provider.authority"), settings.timeout)
        self._keys: dict[str, Any] = {}
        # By the clock of this host: the last fetch that succeeded, and the last one at all.
        self._fetched = self._tried = float("-inf")
        self._reason = ""
        self._one = asyncio.Lock()

    async def verify(self, token: str, now: float) -> Bearer:
        """The person of a token. Raises Denied, and Unavailable if its key cannot be had now."""
        key = await self._key(key_of(token))
        claims = decode(token, key, ALGORITHMS)
        registry = jwt.JWTClaimsRegistry(
            now=int(now),
            iss={"essential": True, "value": self._settings.issuer},
            aud={"essential": True, "value": self._settings.audience},
            exp={"essential": True},
            iat={"essential": True},
        )
        check(claims, registry, now)
        if claims.get("typ") not in _USES:
            raise refused("a token of the identity provider for another use")
        # Its holder would have to prove that it has a key (RFC 7800), and a login has no place for the proof.
        if "cnf" in claims:
            raise refused("a token of the identity provider that is bound to a key")
        name = claims.get(self._settings.name_claim)
        if not isinstance(name, str):
            raise refused(f"a token without the claim {self._settings.name_claim}")
        # Until then it is what the person typed there. Some providers do not say whether it was.
        if self._settings.name_claim == EMAIL and claims.get("email_verified", True) is not True:
            raise refused("a token with an e-mail address that was not verified")
        account = name
        if self._settings.domain:
            account, mark, domain = name.rpartition("@")
            if not mark or domain.casefold() != self._settings.domain.casefold():
                raise refused("a token of another domain")
        account = account_of(account)
        # A revocation is kept that long.
        if claims["exp"] - claims["iat"] > DAY:
            raise refused("a token of the identity provider that lives longer than a day")
        names = frozenset({account, name, str(claims.get(EMAIL, name))})
        return Bearer(account, "", float(claims["iat"]), float(claims["exp"]), "provider", names)

    async def close(self) -> None:
        """Close all connections."""
        await self._web.close()

    async def _key(self, kid: str) -> Any:
        """A key of the provider. Raises Denied and Unavailable."""
        kept = time.monotonic() - self._fetched < self._settings.keep
        if kid not in self._keys or not kept:
            async with self._one:
                # Another request may have fetched them meanwhile; a made-up key is no reason to ask again at once.
                if time.monotonic() - self._tried >= self._settings.refetch:
                    await self._fetch()
        if kid in self._keys:
            return self._keys[kid]
        if self._reason:
            raise Unavailable(TITLE, self._reason)
        raise refused("a token of an unknown key")

    async def _fetch(self) -> None:
        """Fetch the keys; if that fails, those of before stay."""
        self._tried = time.monotonic()
        try:
            self._keys = _keys(await self._json(self._settings.keys_url or await self._discovered()))
        except WebError as error:
            self._reason = str(error)
            log.warning("The keys of the identity provider cannot be fetched: %s. Those of before still verify.", error)
        else:
            self._reason = ""
            self._fetched = self._tried

    async def _discovered(self) -> str:
        """Where the keys are, by the discovery document. Raises WebError."""
        url = self._settings.issuer.rstrip("/") + DISCOVERY
        found = await self._json(url)
        if not isinstance(found, dict) or found.get("issuer") != self._settings.issuer:
            raise WebError(f"{url}: the document is not of the issuer {self._settings.issuer}")
        where = found.get("jwks_uri")
        # Over http:// any host on the way could choose the keys.
        if not isinstance(where, str) or any(url_problems("jwks_uri", where)):
            raise WebError(f"{url}: jwks_uri is no https:// URL")
        return where

    async def _json(self, url: str) -> Any:
        """What is at a URL. Raises WebError, which names it."""
        try:
            answer = await self._web.ask("GET", url)
            if answer.status != 200:
                raise WebError(f"status {answer.status}")
            return answer.json()
        except WebError as error:
            raise WebError(f"{url}: {error}") from None


def _keys(found: Any) -> dict[str, Any]:
    """Keys by name; those that are not for signatures, or of another kind, are left out. Raises WebError."""
    listed = found.get("keys") if isinstance(found, dict) else None
    if not isinstance(listed, list):
        raise WebError("the provider's answer has no keys")
    keys: dict[str, Any] = {}
    for one in listed:
        if not isinstance(one, dict) or not isinstance(one.get("kid"), str) or one.get("use", "sig") != "sig":
            continue
        try:
            (key,) = KeySet.import_key_set({"keys": [one]}).keys
        except (JoseError, ValueError, TypeError, KeyError):
            continue
        strong = isinstance(key, ECKey | OKPKey) or (isinstance(key, RSAKey) and key.public_key.key_size >= _LEAST_BITS)
        if strong:
            keys[one["kid"]] = key
    if not keys:
        raise WebError("the provider's answer has no key that verifies signatures")
    return keys
