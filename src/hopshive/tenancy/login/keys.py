"""The keys that sign tokens: rows that all replicas share, with the private half sealed.

Sealed, because a dump of the database and each account that reads it would else sign tokens for everybody. In the database,
because a rotation is then one transaction: no host signs with a key that another does not know.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from joserfc.jwk import ECKey

from hopshive.errors import Refused
from hopshive.tenancy.login.clock import moment, read_now, seconds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hopshive.database import Transaction

ALGORITHM = "ES256"
_CURVE = "P-256"
_NONCE = 12
# Seconds for which replicas may still sign with a key that has a successor: they look for new ones more often.
SLACK = 60.0


class Sealer:
    """Seals private keys under a secret of the hosts."""

    def __init__(self, secret: str, where: str) -> None:
        derived = HKDF(hashes.SHA256(), 32, salt=None, info=b"hopshive login keys").derive(secret.encode())
        self._cipher = AESGCM(derived)
        self._where = where

    def seal(self, kid: str, private: bytes) -> bytes:
        """What stands in the database; it opens under this `kid` alone."""
        nonce = os.urandom(_NONCE)
        return nonce + self._cipher.encrypt(nonce, private, kid.encode())

    def open(self, kid: str, sealed: bytes) -> bytes:
        """The private key. Raises Refused."""
        try:
            return self._cipher.decrypt(sealed[:_NONCE], sealed[_NONCE:], kid.encode())
        except InvalidTag:
            raise Refused(
                f"The key {kid} in the database was not sealed with {self._where} (tokens.sealing_key_file). All hosts of "
                "the group login need the same file. If the former one is lost: hopshive login rotate-keys --forget"
            ) from None


@dataclass(frozen=True)
class Key:
    """One key. `signs_from` and `expires` in seconds since 1970; `private` is None where no token is signed."""

    kid: str
    public: dict[str, Any]
    signs_from: float
    lifetime: float
    expires: float | None = None
    private: ECKey | None = None


@dataclass(frozen=True)
class KeyRing:
    """All keys at one look."""

    keys: Sequence[Key] = ()

    def signer(self, now: float) -> Key | None:
        """The newest key whose moment has come."""
        due = [key for key in self.keys if key.signs_from <= now and key.private is not None]
        return max(due, key=lambda key: (key.signs_from, key.kid), default=None)

    def verifier(self, kid: str, now: float) -> Key | None:
        """The key of that name, unless its last token has expired."""
        found = next((key for key in self.keys if key.kid == kid), None)
        return found if found is not None and (found.expires is None or now < found.expires) else None

    def jwks(self, now: float) -> dict[str, Any]:
        """The public halves of what verifies, as RFC 7517 has them."""
        return {"keys": [key.public for key in self.keys if self.verifier(key.kid, now)]}


def rotate(tx: Transaction, sealer: Sealer, lifetime: float, lead: float = 0.0) -> str:
    """Add a key that signs `lead` seconds from now, and give each of before its end; the new key's name.

    Keys whose last token has expired are deleted.
    """
    now = read_now(tx)
    new = ECKey.generate_key(_CURVE, auto_kid=True)
    kid = str(new.kid)
    public = {**new.as_dict(private=False), "kid": kid, "use": "sig", "alg": ALGORITHM}
    private = json.dumps(new.as_dict(private=True)).encode()
    tx.execute("DELETE FROM {state}.login_key WHERE expires <= UTC_TIMESTAMP(6)")
    for old, lived in tx.rows("SELECT kid, lifetime FROM {state}.login_key WHERE expires IS NULL FOR UPDATE"):
        end = moment(now + lead + max(float(lived), lifetime) + SLACK)
        tx.execute("UPDATE {state}.login_key SET expires = %s WHERE kid = %s", (end, bytes(old)))
    tx.execute(
        "INSERT INTO {state}.login_key (kid, public, sealed, signs_from, lifetime) VALUES (%s, %s, %s, %s, %s)",
        (kid.encode(), json.dumps(public).encode(), sealer.seal(kid, private), moment(now + lead), round(lifetime)),
    )
    return kid


def forget(tx: Transaction) -> int:
    """Delete all keys: each token that they signed is refused as soon as the replicas look; how many."""
    return tx.execute("DELETE FROM {state}.login_key")


def read(tx: Transaction, sealer: Sealer | None, known: KeyRing | None = None) -> KeyRing:
    """All keys. Without a sealer the public halves. Keys of `known` are not opened again. Raises Refused."""
    before = {key.kid: key.private for key in known.keys} if known else {}
    found = []
    for kid, public, sealed, signs_from, lifetime, expires in tx.rows(
        "SELECT kid, public, sealed, signs_from, lifetime, expires FROM {state}.login_key ORDER BY signs_from, kid"
    ):
        name = bytes(kid).decode()
        private = before.get(name)
        if private is None and sealer is not None:
            private = ECKey.import_key(json.loads(sealer.open(name, bytes(sealed))))
        end = None if expires is None else seconds(expires)
        found.append(Key(name, json.loads(bytes(public)), seconds(signs_from), float(lifetime), end, private))
    return KeyRing(tuple(found))


def ensure(tx: Transaction, sealer: Sealer, lifetime: float, known: KeyRing | None = None) -> KeyRing:
    """All keys; there is one that signs. A replica with longer tokens says so in the row of the key. Raises Refused.

    Two replicas that begin at once make two keys, of which all take the same.
    """
    ring = read(tx, sealer, known)
    if ring.signer(read_now(tx)) is None:
        rotate(tx, sealer, lifetime)
        ring = read(tx, sealer, known)
    for key in ring.keys:
        if key.expires is None and key.lifetime < lifetime:
            tx.execute(
                "UPDATE {state}.login_key SET lifetime = GREATEST(lifetime, %s) WHERE kid = %s",
                (round(lifetime), key.kid.encode()),
            )
    return ring
