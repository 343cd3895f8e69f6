"""Checks of TLS in an inventory: what the site brings, and how long authorities last. Reads files of the controller."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from hopshive.install.preflight.database import password_weakness
from hopshive.install.preflight.problem import merged
from hopshive.install.tls.names import certificate_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hopshive.install.preflight.inventory import HostVariables, Inventory
    from hopshive.install.preflight.problem import Problem

# The kinds of `cluster_tls`.
NONE, BUNDLE, SITE = "none", "bundle", "site"
VARIABLE = "cluster_tls"
# Days before the end of an authority in which every client gets the next one.
AUTHORITY_DAYS = 30
# A shorter password is refused by the tools of a JDK.
STORE_PASSWORD_LENGTH = 6
PATHS = ("cluster_tls_certificate", "cluster_tls_key", "cluster_tls_authority")


def has_tls(variables: HostVariables) -> bool:
    """Whether the services of a host have TLS."""
    return str(variables.values.get(VARIABLE, NONE)) != NONE


def check_tls(inventory: Inventory, now: datetime | None = None) -> Iterator[Problem]:
    """The site's files are there, fit and name their hosts, and no authority ends soon."""
    moment = now or datetime.now(UTC)
    findings = [(text, host) for host in inventory.hosts for text in _of_host(inventory, host, moment)]
    yield from merged(findings, inventory.hosts)


def _of_host(inventory: Inventory, host: str, now: datetime) -> Iterator[str]:
    values = inventory.hosts[host].values
    kind = str(values.get(VARIABLE, NONE))
    if kind not in (BUNDLE, SITE):
        return
    password = values.get("cluster_tls_store_password")
    if password is not None and len(str(password)) < STORE_PASSWORD_LENGTH:
        yield f"cluster_tls_store_password has fewer than {STORE_PASSWORD_LENGTH} characters (for {{hosts}})"
    if kind == BUNDLE:
        passphrase = str(values.get("cluster_tls_authority_passphrase") or "")
        if passphrase and (weakness := password_weakness(passphrase, "")):
            yield f"cluster_tls_authority_passphrase {weakness} (for {{hosts}}): take another one"
        yield from _of_bundle(str(values.get("cluster_tls_authority_dir") or ""), now)
        return
    paths = {name: str(values.get(name) or "") for name in PATHS}
    if lacking := [name for name, path in paths.items() if not path]:
        yield f"{VARIABLE} is {SITE}, but {' and '.join(lacking)} is not set (for {{hosts}}): name the PEM file on the controller"
        return
    yield from _of_site(host, [paths[name] for name in PATHS], certificate_names(host, values), now)


def _of_bundle(directory: str, now: datetime) -> Iterator[str]:
    # A controller that only builds artifacts may lack cryptography.
    from hopshive.install.tls import authority, pem

    path = Path(directory, authority.CERTIFICATE)
    if not directory or not path.exists():
        return
    try:
        (certificate,) = pem.certificates(path, authority.DIRECTORY)[:1]
    except pem.TlsError as error:
        yield str(error).rstrip(".")
        return
    if pem.expires_within(certificate, AUTHORITY_DAYS, now):
        yield (
            f"The authority {path} ends on {pem.day(certificate.not_valid_after_utc)} (for {{hosts}}): move"
            f" {authority.CERTIFICATE} and {authority.KEY} out of {directory}, and give every client the next authority"
        )


def _of_site(host: str, paths: Sequence[str], names: Sequence[str], now: datetime) -> Iterator[str]:
    from hopshive.install.tls import given, pem

    files = given.Given(*paths)
    try:
        chain = pem.certificates(Path(files.certificate), f"{given.CERTIFICATE} of {host}")
        key = pem.private_key(Path(files.key), f"{given.KEY} of {host}")
        trusted = pem.certificates(Path(files.authority), f"{given.AUTHORITY} of {host}")
    except pem.TlsError as error:
        yield str(error).rstrip(".")
        return
    yield from given.faults(host, files, chain, key, trusted, names, now)
    lasting = [one for one in trusted if not pem.expires_within(one, AUTHORITY_DAYS, now)]
    if pem.vouched(chain, lasting):
        # An authority that is being replaced may end.
        return
    for certificate in trusted:
        if certificate not in lasting:
            yield (
                f"The authority {files.authority} ({given.AUTHORITY}) of {{hosts}} ends on"
                f" {pem.day(certificate.not_valid_after_utc)}: add the next one to the file before"
            )
