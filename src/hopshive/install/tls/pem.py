"""Certificates and keys in PEM files: reading them, and what is wrong with one. Needs cryptography."""

from __future__ import annotations

import ipaddress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from hopshive.install.tls.names import is_address

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from pathlib import Path

    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

PEM = serialization.Encoding.PEM
Key = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey
# The fewest bits of an RSA key: browsers and JDKs refuse a certificate with fewer.
RSA_BITS = 2048


class TlsError(Exception):
    """Certificates cannot be made or used; the message is a sentence for the operator, without a secret."""


def certificates(path: Path, setting: str) -> list[x509.Certificate]:
    """The certificates of a PEM file, in its order: a server's own comes first. Raises TlsError."""
    try:
        found = x509.load_pem_x509_certificates(path.read_bytes())
    except OSError as error:
        raise TlsError(f"{path} ({setting}) cannot be read: {error.strerror}.") from None
    except ValueError:
        raise TlsError(f"{path} ({setting}) has no certificate in PEM.") from None
    return found


def private_key(path: Path, setting: str, passphrase: str = "", passphrase_setting: str = "") -> Key:
    """The key of a PEM file. `setting` and `passphrase_setting` are named in errors. Raises TlsError."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise TlsError(f"{path} ({setting}) cannot be read: {error.strerror}.") from None
    encrypted = b"ENCRYPTED" in content.partition(b"\n")[0] or b"Proc-Type: 4,ENCRYPTED" in content
    if encrypted and not passphrase:
        advice = f"set {passphrase_setting}" if passphrase_setting else "give the key without a passphrase"
        raise TlsError(f"The key {path} ({setting}) has a passphrase: {advice}.")
    try:
        key: PrivateKeyTypes = serialization.load_pem_private_key(content, passphrase.encode() if encrypted else None)
    except (ValueError, TypeError):
        if encrypted:
            raise TlsError(f"{passphrase_setting} is not the passphrase of the key {path} ({setting}).") from None
        raise TlsError(f"{path} ({setting}) has no private key in PEM.") from None
    if isinstance(key, rsa.RSAPrivateKey) and key.key_size < RSA_BITS:
        raise TlsError(f"The RSA key {path} ({setting}) has {key.key_size} bits, fewer than {RSA_BITS}.")
    if not isinstance(key, Key):
        raise TlsError(f"{path} ({setting}) is neither an elliptic curve nor an RSA key.")
    return key


def alternative(name: str) -> x509.GeneralName:
    """A host name or an address as a certificate has it."""
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name.lower())


def names_of(certificate: x509.Certificate) -> set[str]:
    """Host names and addresses that a certificate is for, as text."""
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    return {name.lower() for name in found.get_values_for_type(x509.DNSName)} | {
        str(address) for address in found.get_values_for_type(x509.IPAddress)
    }


def missing_names(certificate: x509.Certificate, names: Collection[str]) -> list[str]:
    """Those of some host names and addresses that a certificate is not for. `*.example.org` counts for one label."""
    has = names_of(certificate)

    def covered(name: str) -> bool:
        lower = name.lower()
        _, _, rest = lower.partition(".")
        return lower in has or (bool(rest) and not is_address(lower) and f"*.{rest}" in has)

    return [name for name in names if not covered(name)]


def fits(certificate: x509.Certificate, key: Key) -> bool:
    """Whether a key is a certificate's."""
    form = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return certificate.public_key().public_bytes(*form) == key.public_key().public_bytes(*form)


def issued_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    """Whether an authority's key signed a certificate."""
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def vouched(chain: Sequence[x509.Certificate], authorities: Sequence[x509.Certificate]) -> bool:
    """Whether a server's certificate leads to one of the authorities, through the further certificates of its file."""
    current, between = chain[0], list(chain[1:])
    while not any(issued_by(current, authority) for authority in authorities):
        above = next((one for one in between if issued_by(current, one)), None)
        if above is None:
            return False
        between.remove(above)
        current = above
    return True


def third_left(certificate: x509.Certificate, now: datetime) -> bool:
    """Whether at most a third of a certificate's life is left: it is renewed then."""
    return in_last_third(certificate.not_valid_before_utc, certificate.not_valid_after_utc, now)


def in_last_third(begin: datetime, end: datetime, now: datetime) -> bool:
    """Whether a moment is in the last third of a time, or after it."""
    return end - now <= (end - begin) / 3


def expires_within(certificate: x509.Certificate, days: int, now: datetime | None = None) -> bool:
    """Whether a certificate ends within so many days, or has ended."""
    return certificate.not_valid_after_utc - (now or datetime.now(UTC)) <= timedelta(days=days)


def day(moment: datetime) -> str:
    """A date for a message."""
    return f"{moment:%Y-%m-%d}"
