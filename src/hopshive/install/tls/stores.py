"""Key stores and trust stores of JVMs, PKCS12, written without a JVM. Needs cryptography 45 or later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import pkcs12

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cryptography import x509

    from hopshive.install.tls.pem import Key

# A trust store holds no secret, but a JVM wants a password of one that is encrypted: everyone may know it.
TRUST_STORE_PASSWORD = "changeit"  # noqa: S105 - guards nothing
# The alias of the key in a key store.
ALIAS = b"host"


def key_store(key: Key, chain: Sequence[x509.Certificate], password: str, alias: bytes = ALIAS) -> bytes:
    """A key store with one key and its certificates; a JVM opens store and key with the same password."""
    encryption = serialization.BestAvailableEncryption(password.encode())
    return pkcs12.serialize_key_and_certificates(alias, key, chain[0], chain[1:] or None, encryption)


def holds_key(content: bytes, key: Key, chain: Sequence[x509.Certificate], password: str) -> bool:
    """Whether a key store opens with a password, and has this key and these certificates."""
    try:
        found = pkcs12.load_pkcs12(content, password.encode())
    except ValueError:
        return False
    if found.key is None or found.cert is None:
        return False
    there = [found.cert.certificate, *(one.certificate for one in found.additional_certs)]
    # Readers return the further certificates in another order than that of the file.
    same = there[0] == chain[0] and set(there[1:]) == set(chain[1:])
    form = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return same and found.key.public_key().public_bytes(*form) == key.public_key().public_bytes(*form)


def trust_store(authorities: Sequence[x509.Certificate]) -> bytes:
    """A trust store with certificates of authorities, which a JVM trusts by the attribute that keytool writes too.

    Thrift reads the file for each connection to a metastore, so for each session of HiveServer2. With the usual 20,000 rounds for
    its password that took more of the processor than all else of opening a session. One round is enough for a known password.
    """
    entries = [pkcs12.PKCS12Certificate(one, f"authority-{n}".encode()) for n, one in enumerate(authorities)]
    encryption = serialization.PrivateFormat.PKCS12.encryption_builder().kdf_rounds(1)
    return pkcs12.serialize_java_truststore(entries, encryption.build(TRUST_STORE_PASSWORD.encode()))


def trusts(content: bytes, authorities: Sequence[x509.Certificate]) -> bool:
    """Whether a trust store has these certificates and no others."""
    try:
        found = pkcs12.load_pkcs12(content, TRUST_STORE_PASSWORD.encode())
    except ValueError:
        return False
    return {one.certificate for one in found.additional_certs} == set(authorities)
