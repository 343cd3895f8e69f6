"""The warehouse's own authority: made once on the controller, where its key stays. Needs cryptography."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from hopshive.install.tls.pem import PEM, Key, TlsError, alternative, certificates, fits, private_key
from hopshive.install.tls.place import write

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

CERTIFICATE, KEY = "authority.pem", "authority.key"
# The variables that messages name.
DIRECTORY = "cluster_tls_authority_dir"
PASSPHRASE = "cluster_tls_authority_passphrase"  # noqa: S105 - the name of a variable
# Clocks of hosts may be behind the controller's.
BEFORE = timedelta(hours=1)
# The longest common name of X.509.
LONGEST_NAME = 64


@dataclass(frozen=True)
class Authority:
    """An authority's certificate and key."""

    certificate: x509.Certificate
    key: Key

    def issue(self, names: Sequence[str], days: int, now: datetime) -> tuple[x509.Certificate, Key]:
        """A certificate for host names and addresses, with a new key. It ends with the authority's at the latest."""
        key = ec.generate_private_key(ec.SECP256R1())
        end = min(now + timedelta(days=days), self.certificate.not_valid_after_utc)
        certificate = (
            _builder(_name(names[0]), self.certificate.subject, key, now, end)
            .add_extension(x509.SubjectAlternativeName([alternative(name) for name in names]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs=False), critical=True)
            # No client's: a host's certificate must not pass for a person's at the gateway.
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
            .add_extension(_identifier(self.certificate), critical=False)
            .sign(self.key, hashes.SHA256())
        )
        return certificate, key


def new(name: str, days: int, now: datetime) -> Authority:
    """A new authority, which signs servers' certificates and no further authorities."""
    key = ec.generate_private_key(ec.SECP384R1())
    subject = _name(f"{name} authority")
    certificate = (
        _builder(subject, subject, key, now, now + timedelta(days=days))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs=True), critical=True)
        .sign(key, hashes.SHA384())
    )
    return Authority(certificate, key)


def read(directory: Path, passphrase: str) -> Authority | None:
    """The authority of a directory; None if there is none. Raises TlsError, for half of one too."""
    paths = directory / CERTIFICATE, directory / KEY
    there = [path for path in paths if path.exists()]
    if not there:
        return None
    if len(there) == 1:
        (lost,) = set(paths) - set(there)
        raise TlsError(
            f"{there[0]} is there, but {lost} is not, so no certificate can be signed. Bring {lost.name} back to"
            f" {directory} ({DIRECTORY}), or move {there[0].name} away for a new authority, which every client must get."
        )
    certificate = certificates(paths[0], DIRECTORY)[0]
    key = private_key(paths[1], DIRECTORY, passphrase, PASSPHRASE)
    if not fits(certificate, key):
        raise TlsError(f"The key {paths[1]} is not that of the authority {paths[0]} ({DIRECTORY}).")
    return Authority(certificate, key)


def encrypted(directory: Path) -> bool:
    """Whether the authority's key has a passphrase."""
    return b"ENCRYPTED" in (directory / KEY).read_bytes().partition(b"\n")[0]


def save(authority: Authority, directory: Path, passphrase: str) -> None:
    """Write an authority, its key with the passphrase. Raises OSError."""
    encryption = (
        serialization.BestAvailableEncryption(passphrase.encode()) if passphrase else serialization.NoEncryption()
    )
    key = authority.key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, encryption)
    write(directory / KEY, key)
    write(directory / CERTIFICATE, authority.certificate.public_bytes(PEM))


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text[:LONGEST_NAME])])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey, now: datetime, end: datetime
) -> x509.CertificateBuilder:
    public = key.public_key()
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now.astimezone(UTC) - BEFORE)
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _identifier(issuer: x509.Certificate) -> x509.AuthorityKeyIdentifier:
    own = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own)


def _usage(*, signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs,
        crl_sign=signs,
        encipher_only=False,
        decipher_only=False,
    )
