"""Certificates that the site brings: files on the controller, checked before any host gets them. Needs cryptography."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hopshive.install.tls.pem import (
    TlsError,
    certificates,
    day,
    expires_within,
    fits,
    missing_names,
    private_key,
    vouched,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from cryptography import x509

    from hopshive.install.tls.pem import Key

# The variables with the paths.
CERTIFICATE, KEY, AUTHORITY = "cluster_tls_certificate", "cluster_tls_key", "cluster_tls_authority"


@dataclass(frozen=True)
class Given:
    """Paths on the controller: a host's certificate, followed by those between it and the authority; its key; the authority."""

    certificate: str
    key: str
    authority: str


def checked(
    host: str, files: Given, names: Sequence[str], now: datetime
) -> tuple[list[x509.Certificate], Key, list[x509.Certificate]]:
    """Certificates, key and authorities of a host. Raises TlsError if a client would refuse them."""
    chain = certificates(Path(files.certificate), f"{CERTIFICATE} of {host}")
    key = private_key(Path(files.key), f"{KEY} of {host}")
    trusted = certificates(Path(files.authority), f"{AUTHORITY} of {host}")
    for fault in faults(host, files, chain, key, trusted, names, now):
        raise TlsError(f"{fault}.")
    return chain, key, trusted


def faults(
    host: str,
    files: Given,
    chain: Sequence[x509.Certificate],
    key: Key,
    trusted: Sequence[x509.Certificate],
    names: Sequence[str],
    now: datetime,
) -> Iterator[str]:
    """What a client would refuse, as sentences without their full stop."""
    file = f"The certificate {files.certificate} ({CERTIFICATE}) of {host}"
    if lacking := missing_names(chain[0], names):
        yield f"{file} is not for {', '.join(lacking)}"
    if not fits(chain[0], key):
        yield f"The key {files.key} ({KEY}) of {host} is not that of the certificate {files.certificate} ({CERTIFICATE})"
    if not vouched(chain, trusted):
        yield f"{file} does not lead to the authority {files.authority} ({AUTHORITY}): put the certificates between behind it"
    if expires_within(chain[0], 0, now):
        yield f"{file} ended on {day(chain[0].not_valid_after_utc)}"
    elif chain[0].not_valid_before_utc > now:
        yield f"{file} begins on {day(chain[0].not_valid_before_utc)}"
