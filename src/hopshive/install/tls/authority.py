"""An authority of the warehouse, of hosts or of clients: made once on the controller, where its key stays. Needs cryptography."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from hopshive.install.tls.pem import PEM, Key, TlsError, alternative, certificates, day, fits, private_key
from hopshive.install.tls.place import write

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
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
        alternatives = x509.SubjectAlternativeName([alternative(name) for name in names])
        # No client's: a host's certificate must not pass for a person's at the gateway.
        return self._issued(names[0], days, now, ExtendedKeyUsageOID.SERVER_AUTH, [alternatives])

    def issue_client(self, user: str, days: int, now: datetime) -> tuple[x509.Certificate, Key]:
        """The same for a user, as whom a program comes in. It names no host, so that none can use it."""
        return self._issued(user, days, now, ExtendedKeyUsageOID.CLIENT_AUTH, [])

    def revocation_list(
        self, revoked: Iterable[x509.RevokedCertificate], number: int, days: int, now: datetime
    ) -> x509.CertificateRevocationList:
        """A list (CRL) of revoked certificates. Each list has a higher number than the one before it."""
        builder = (
            x509.CertificateRevocationListBuilder()
            .issuer_name(self.certificate.subject)
            .last_update(now - BEFORE)
            .next_update(min(now + timedelta(days=days), self.certificate.not_valid_after_utc))
            .add_extension(_identifier(self.certificate), critical=False)
            .add_extension(x509.CRLNumber(number), critical=False)
        )
        for one in revoked:
            builder = builder.add_revoked_certificate(one)
        return builder.sign(self.key, hashes.SHA256())

    def _issued(
        self, name: str, days: int, now: datetime, usage: x509.ObjectIdentifier, more: Sequence[x509.ExtensionType]
    ) -> tuple[x509.Certificate, Key]:
        key = ec.generate_private_key(ec.SECP256R1())
        end = min(now + timedelta(days=days), self.certificate.not_valid_after_utc)
        builder = _builder(_name(name), self.certificate.subject, key, now, end)
        for extension in more:
            builder = builder.add_extension(extension, critical=False)
        certificate = (
            builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(signs=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
            .add_extension(_identifier(self.certificate), critical=False)
            .sign(self.key, hashes.SHA256())
        )
        return certificate, key


def new(name: str, days: int, now: datetime) -> Authority:
    """A new authority, which signs certificates of hosts or of clients, and no further authorities."""
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


def ensured(
    directory: Path, passphrase: str, name: str, days: int, now: datetime, *, dry: bool
) -> tuple[Authority, str]:
    """The authority of a directory, made if there is none, and what was done with it; empty if nothing was. Raises TlsError."""
    found, done = read(directory, passphrase), ""
    if found is None:
        found, done = new(name, days, now), "made"
    elif passphrase and not encrypted(directory):
        done = "its key gets the passphrase"
    elif found.certificate.not_valid_after_utc <= now:
        raise TlsError(
            f"The authority {directory / CERTIFICATE} ended on {day(found.certificate.not_valid_after_utc)}."
        )
    if done and not dry:
        save(found, directory, passphrase)
    return found, done


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
