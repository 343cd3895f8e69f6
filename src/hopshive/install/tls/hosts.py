"""The certificates of all hosts in one directory of the controller: judged, issued or taken over. Needs cryptography."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives import hashes, serialization

from hopshive.install.tls import authority as authorities
from hopshive.install.tls import given
from hopshive.install.tls.pem import (
    PEM,
    TlsError,
    certificates,
    day,
    fits,
    issued_by,
    names_of,
    private_key,
    third_left,
)
from hopshive.install.tls.place import content_of, locked, private_directory, write
from hopshive.install.tls.stores import holds_key, key_store, trust_store, trusts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from cryptography import x509

    from hopshive.install.tls.given import Given
    from hopshive.install.tls.pem import Key

HOSTS = "hosts"
CERTIFICATE, KEY, AUTHORITY = "host.pem", "host.key", "authority.pem"
KEY_STORE, TRUST_STORE = "keystore.p12", "truststore.p12"


@dataclass(frozen=True)
class Plan:
    """What is wanted. `hosts`: host names and addresses by inventory name. `given`: by inventory name, what the site brings."""

    directory: Path
    hosts: Mapping[str, Sequence[str]]
    store_password: str = field(repr=False)
    passphrase: str = field(default="", repr=False)
    name: str = "hopshive"
    days: int = 365
    authority_days: int = 3650
    given: Mapping[str, Given] | None = None


@dataclass
class Outcome:
    """What was or would be done: why each host gets another certificate, hosts whose stores change, what the diff shows."""

    authority: str = ""
    issued: dict[str, str] = field(default_factory=dict)
    stores: list[str] = field(default_factory=list)
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        """Whether a file was or would be written."""
        return bool(self.authority or self.issued or self.stores)


@dataclass(frozen=True)
class Pair:
    """A host's certificates, its own first, and its key."""

    chain: Sequence[x509.Certificate]
    key: Key


def ensure(plan: Plan, *, dry: bool = False, now: datetime | None = None) -> Outcome:
    """Bring the directory to the plan; with `dry` say what would change. Raises TlsError."""
    for host, names in plan.hosts.items():
        if not names or "/" in host or host.startswith("."):
            raise TlsError(f"{host!r} cannot have a certificate: it is no host name, or has no names.")
    try:
        if not dry:
            private_directory(plan.directory)
        with nullcontext() if dry else locked(plan.directory):
            return _ensure(plan, dry, (now or datetime.now(UTC)).replace(microsecond=0))
    except OSError as error:
        raise TlsError(f"{error.filename or plan.directory} cannot be written: {error.strerror}.") from None


def _ensure(plan: Plan, dry: bool, now: datetime) -> Outcome:
    outcome = Outcome()
    own = None
    if plan.given is None:
        made = (plan.directory, plan.passphrase, plan.name, plan.authority_days)
        own, outcome.authority = authorities.ensured(*made, now, dry=dry)
    for host, names in sorted(plan.hosts.items()):
        directory = plan.directory / HOSTS / host
        there = _there(directory)
        if own:
            trusted: Sequence[x509.Certificate] = [own.certificate]
            reason = _fault(there, own.certificate, names, now)
            certificate, key = own.issue(names, plan.days, now) if reason else (None, None)
            wanted = Pair([certificate], key) if certificate and key else there
        else:
            one = (plan.given or {})[host]
            chain, key, trusted = given.checked(host, one, names, now)
            wanted = Pair(chain, key)
            reason = "the site's files are others" if there is None or list(there.chain) != list(chain) else ""
        assert wanted is not None  # noqa: S101 - without a certificate there is a reason to make one
        if there:
            outcome.before[host] = shown(there.chain[0])
        outcome.after[host] = shown(wanted.chain[0])
        if reason:
            outcome.issued[host] = reason
        if _write(directory, wanted, trusted, plan.store_password, bool(reason), dry) and not reason:
            outcome.stores.append(host)
    return outcome


def _there(directory: Path) -> Pair | None:
    """The pair that the directory has; None if it has none that can be read."""
    try:
        return Pair(certificates(directory / CERTIFICATE, HOSTS), private_key(directory / KEY, HOSTS))
    except TlsError:
        return None


def _fault(there: Pair | None, authority: x509.Certificate, names: Sequence[str], now: datetime) -> str:
    """Why a host needs a new certificate; empty if it does not."""
    if there is None:
        return "it has none"
    certificate = there.chain[0]
    if not issued_by(certificate, authority):
        return "another authority signed it"
    if not fits(certificate, there.key):
        return "the key is not the certificate's"
    wanted = {name.lower() for name in names}
    if names_of(certificate) != wanted:
        return f"it is for {', '.join(sorted(names_of(certificate)))}"
    if third_left(certificate, now):
        return f"it ends on {day(certificate.not_valid_after_utc)}"
    return ""


def _write(
    directory: Path, pair: Pair, trusted: Sequence[x509.Certificate], password: str, replaced: bool, dry: bool
) -> list[str]:
    """Write the files of a host that are not as wanted; returns their names."""
    key = pair.key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    texts = {
        CERTIFICATE: b"".join(one.public_bytes(PEM) for one in pair.chain),
        KEY: key,
        AUTHORITY: b"".join(one.public_bytes(PEM) for one in trusted),
    }
    files = {name: content for name, content in texts.items() if content_of(directory / name) != content}
    if replaced or not holds_key(content_of(directory / KEY_STORE), pair.key, pair.chain, password):
        files[KEY_STORE] = key_store(pair.key, pair.chain, password)
    if not trusts(content_of(directory / TRUST_STORE), trusted):
        files[TRUST_STORE] = trust_store(trusted)
    if files and not dry:
        private_directory(directory.parent)
        private_directory(directory)
        for name, content in files.items():
            write(directory / name, content)
    return sorted(files)


def shown(certificate: x509.Certificate) -> dict[str, Any]:
    """What a diff shows of a certificate: nothing of it is secret."""
    return {
        "names": sorted(names_of(certificate)),
        "ends": day(certificate.not_valid_after_utc),
        "issuer": certificate.issuer.rfc4514_string(),
        "sha256": certificate.fingerprint(hashes.SHA256()).hex(),
    }
