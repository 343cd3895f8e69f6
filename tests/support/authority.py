"""Certificates for tests: an authority, those below it, what they sign, and what they revoke."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

DAY = timedelta(days=1)


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, in PEM files."""

    certificate: Path
    key: Path

    @property
    def serial(self) -> int:
        """The certificate's number."""
        return x509.load_pem_x509_certificate(self.certificate.read_bytes()).serial_number


class Authority:
    """Makes its own certificate in a directory, and signs others there. `parent` signs it; without one it is a root."""

    def __init__(self, directory: Path, name: str = "authority", parent: Authority | None = None) -> None:
        self._directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self.path = directory / f"{name}.pem"
        builder = self._builder(self._name, self._key, parent).add_extension(
            x509.BasicConstraints(ca=True, path_length=0 if parent else 1), critical=True
        )
        certificate = builder.sign(parent._key if parent else self._key, hashes.SHA256())
        self._chain = certificate.public_bytes(serialization.Encoding.PEM) if parent else b""
        self.path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, name: str, *names: str, subject: str = "", ended: bool = False) -> Pair:
        """A certificate of a common name, for host names and addresses; of none, for localhost and 127.0.0.1.

        `subject`: the common name, where `name` is only that of the files. `ended`: it was valid until now.
        """
        key = ec.generate_private_key(ec.SECP256R1())
        made = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject or name)])
        alternatives = [_alternative(one) for one in names or ("localhost", "127.0.0.1")]
        builder = self._builder(made, key, ended=ended).add_extension(
            x509.SubjectAlternativeName(alternatives), critical=False
        )
        certificate = builder.sign(self._key, hashes.SHA256())
        pair = Pair(self._directory / f"{name}.pem", self._directory / f"{name}.key")
        # One below a root sends its own certificate along.
        pair.certificate.write_bytes(certificate.public_bytes(serialization.Encoding.PEM) + self._chain)
        pair.key.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return pair

    def revoked(self, *pairs: Pair, ended: bool = False) -> str:
        """A revocation list (PEM) with these. `ended`: a newer one should have come."""
        now = datetime.now(UTC)
        builder = x509.CertificateRevocationListBuilder().issuer_name(self._name).last_update(now - DAY)
        builder = builder.next_update(now - timedelta(hours=1) if ended else now + DAY)
        for pair in pairs:
            entry = x509.RevokedCertificateBuilder().serial_number(pair.serial).revocation_date(now - DAY).build()
            builder = builder.add_revoked_certificate(entry)
        return builder.sign(self._key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()

    def _builder(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        parent: Authority | None = None,
        *,
        ended: bool = False,
    ) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(parent._name if parent else self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - DAY)
            .not_valid_after(now - timedelta(seconds=1) if ended else now + DAY)
        )


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
