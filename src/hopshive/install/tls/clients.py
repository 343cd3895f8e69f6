"""Client certificates of the warehouse: an authority of their own, what it signed, and its revocation list.

The authority is not that of the hosts. So a host's certificate lets no one in at a gateway, and no program passes for a host.
The list is the only record of what is revoked: where it is lost, no other one is begun. Needs cryptography.
"""

from __future__ import annotations

import secrets
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import NameOID

from hopshive.install.tls import authority as authorities
from hopshive.install.tls.pem import (
    PEM,
    TlsError,
    certificates,
    day,
    fits,
    in_last_third,
    issued_by,
    private_key,
    third_left,
)
from hopshive.install.tls.place import content_of, locked, private_directory, write
from hopshive.install.tls.stores import holds_key, key_store
from hopshive.tenancy.names import JOINT, RESERVED, BadName, parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from hopshive.install.tls.authority import Authority
    from hopshive.install.tls.pem import Key

    Pair = tuple[x509.Certificate, Key]

# Below the directory: a copy of each certificate, named by its serial number, and the list.
ISSUED, LIST = "issued", "revoked.pem"
# What a program gets, named by its user.
CERTIFICATE, KEY, STORE, PASSWORD = ".pem", ".key", ".p12", ".password"
# How error messages name the directory.
DIRECTORY = "directory"
PASSWORD_BYTES = 24


@dataclass(frozen=True)
class Clients:
    """Where the authority of clients is, the passphrase of its key, what it is called, and how long it and its lists are good."""

    directory: Path
    passphrase: str = field(default="", repr=False)
    name: str = "hopshive"
    authority_days: int = 3650
    list_days: int = 365


@dataclass
class Outcome:
    """What was or would be done. `revocation_list` and `issued`: why another one was made. Serial numbers are hexadecimal."""

    authority: str = ""
    revocation_list: str = ""
    issued: str = ""
    serial: str = ""
    ends: str = ""
    files: list[str] = field(default_factory=list)
    revoked: list[str] = field(default_factory=list)
    before: dict[str, Any] = field(default_factory=dict)
    after: dict[str, Any] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        """Whether a file was or would be written."""
        return bool(self.authority or self.revocation_list or self.issued or self.files or self.revoked)


@dataclass(frozen=True)
class _Office:
    """The authority at work, with its list."""

    clients: Clients
    authority: Authority
    list: x509.CertificateRevocationList
    now: datetime
    dry: bool

    def has_revoked(self, certificate: x509.Certificate) -> bool:
        return self.list.get_revoked_certificate_by_serial_number(certificate.serial_number) is not None


def checked_user(user: str) -> str:
    """An account, or a project's user such as `sales__alice`, as it is. Raises TlsError."""
    try:
        _, account = parts(user)
    except BadName as error:
        raise TlsError(f"{user!r} is neither an account nor <project>{JOINT}<account>. {error}") from None
    if account in RESERVED:
        raise TlsError(f"The account {account} is that of a service. No program logs in as it.")
    return user


def prepare(clients: Clients, *, dry: bool = False, now: datetime | None = None) -> Outcome:
    """Make authority and list once, and the next list when a third of its time is left. Raises TlsError."""
    outcome = Outcome()
    with _office(clients, outcome, dry, now):
        return outcome


def issue(
    clients: Clients, user: str, days: int, output: Path, *, dry: bool = False, now: datetime | None = None
) -> Outcome:
    """Bring a certificate of a user to `output`. One that is there stays until a third of its life is left. Raises TlsError."""
    checked_user(user)
    if days < 1:
        raise TlsError(f"A certificate is good for one day at least, not for {days} (days).")
    outcome = Outcome()
    with _office(clients, outcome, dry, now) as office:
        if output.exists() and output.stat().st_mode & 0o077:
            raise TlsError(
                f"Others than its user can enter {output} (output): chmod 700 it, or name another directory."
            )
        pair = _there(output, user)
        outcome.issued = _fault(office, pair, user)
        if pair:
            outcome.before[user] = _shown(pair[0])
        if outcome.issued or not pair:
            pair = office.authority.issue_client(user, days, office.now)
        outcome.after[user] = _shown(pair[0])
        outcome.serial, outcome.ends = _hexadecimal(pair[0].serial_number), day(pair[0].not_valid_after_utc)
        _hand_out(office, output, user, pair, outcome)
    return outcome


def revoke(
    clients: Clients, user: str = "", serial: str = "", *, dry: bool = False, now: datetime | None = None
) -> Outcome:
    """Put all certificates of a user on the list, or the one with a serial number (hexadecimal). Raises TlsError."""
    if user:
        checked_user(user)
    number = _number(serial) if serial else 0
    path = clients.directory / authorities.CERTIFICATE
    if not path.exists():
        raise TlsError(f"No client certificate was issued: there is no authority {path} ({DIRECTORY}).")
    outcome = Outcome()
    with _office(clients, outcome, dry, now) as office:
        meant = _meant(office, user, number)
        wanted = [one for one in meant if office.list.get_revoked_certificate_by_serial_number(one) is None]
        if wanted:
            outcome.revoked = [_hexadecimal(one) for one in wanted]
            outcome.before["list"] = _shown_list(office.list)
            following = _following(office.authority, office.list, wanted, clients.list_days, office.now)
            outcome.after["list"] = _shown_list(following)
            if not dry:
                write(clients.directory / LIST, following.public_bytes(PEM))
    return outcome


def _meant(office: _Office, user: str, number: int) -> list[int]:
    """The serial numbers that are to be revoked; of a user, all."""
    if not user:
        return [number]
    issued = list(_issued(office.clients.directory, office.authority))
    own = [one.serial_number for one in issued if _user(one) == user]
    if not own:
        others = ", ".join(sorted({_user(one) for one in issued}))
        raise TlsError(f"{user} has no client certificate. Certificates were issued for: {others or 'no user'}.")
    if number and number not in own:
        numbers = ", ".join(map(_hexadecimal, own))
        raise TlsError(f"{user} has no client certificate {_hexadecimal(number)}. There are: {numbers}.")
    return [number] if number else own


@contextmanager
def _office(clients: Clients, outcome: Outcome, dry: bool, now: datetime | None) -> Iterator[_Office]:
    """The authority and its list, both made or renewed if need be; others are kept out meanwhile."""
    moment = (now or datetime.now(UTC)).replace(microsecond=0)
    directory = clients.directory
    try:
        if not dry:
            private_directory(directory)
        with nullcontext() if dry else locked(directory):
            made = (directory, clients.passphrase, f"{clients.name} clients", clients.authority_days)
            authority, outcome.authority = authorities.ensured(*made, moment, dry=dry)
            found = _read_list(directory, authority)
            if found is None:
                outcome.revocation_list = "there is none"
            elif in_last_third(found.last_update_utc, _end(found), moment):
                outcome.revocation_list = f"it ends on {day(_end(found))}"
                outcome.before["list"] = _shown_list(found)
            if found is None or outcome.revocation_list:
                found = _following(authority, found, [], clients.list_days, moment)
                outcome.after["list"] = _shown_list(found)
                if not dry:
                    write(directory / LIST, found.public_bytes(PEM))
            yield _Office(clients, authority, found, moment, dry)
    except OSError as error:
        raise TlsError(f"{error.filename or directory} cannot be read or written: {error.strerror}.") from None


def _read_list(directory: Path, authority: Authority) -> x509.CertificateRevocationList | None:
    """The authority's list; None if there is none yet. Raises TlsError where it is lost: what it revoked would count again."""
    path = directory / LIST
    if path.exists():
        try:
            found = x509.load_pem_x509_crl(path.read_bytes())
        except ValueError:
            raise TlsError(
                f"{path} has no revocation list in PEM. Bring it back from the backup of {directory}."
            ) from None
        if found.is_signature_valid(authority.certificate.public_key()):  # type: ignore[arg-type]
            return found
    if any(_issued(directory, authority)):
        raise TlsError(
            f"The revocation list {path} of {authorities.CERTIFICATE} is lost, and with it which certificates are revoked."
            f" Bring it back from the backup of {directory}. Without a backup, move {authorities.CERTIFICATE} and"
            f" {authorities.KEY} away: the next run makes another authority, and no certificate of the former one counts."
        )
    return None


def _following(
    authority: Authority,
    before: x509.CertificateRevocationList | None,
    serials: Sequence[int],
    days: int,
    now: datetime,
) -> x509.CertificateRevocationList:
    """The next list, with some certificates more."""
    number = before.extensions.get_extension_for_class(x509.CRLNumber).value.crl_number if before is not None else 0
    begun = x509.RevokedCertificateBuilder().revocation_date(now)
    more = [begun.serial_number(serial).build() for serial in serials]
    # A list is false where it has no entry.
    return authority.revocation_list([*(before if before is not None else []), *more], number + 1, days, now)


def _end(found: x509.CertificateRevocationList) -> datetime:
    end = found.next_update_utc
    return end or datetime.min.replace(tzinfo=UTC)


def _issued(directory: Path, authority: Authority) -> Iterator[x509.Certificate]:
    """What the authority signed: certificates of a former one stay in the directory."""
    for path in sorted((directory / ISSUED).glob(f"*{CERTIFICATE}")):
        (certificate,) = certificates(path, DIRECTORY)[:1]
        if issued_by(certificate, authority.certificate):
            yield certificate


def _there(output: Path, user: str) -> Pair | None:
    """The user's certificate and key in a directory; None if they are not there, or cannot be read."""
    try:
        return certificates(output / f"{user}{CERTIFICATE}", "")[0], private_key(output / f"{user}{KEY}", "")
    except TlsError:
        return None


def _fault(office: _Office, pair: Pair | None, user: str) -> str:
    """Why a user needs another certificate; empty if there is no need."""
    if pair is None:
        return "there is none"
    certificate, key = pair
    if not issued_by(certificate, office.authority.certificate):
        return "another authority signed it"
    if not fits(certificate, key):
        return "the key is not the certificate's"
    if _user(certificate) != user:
        return f"it is for {_user(certificate)}"
    if office.has_revoked(certificate):
        return "it is revoked"
    if third_left(certificate, office.now):
        return f"it ends on {day(certificate.not_valid_after_utc)}"
    return ""


def _hand_out(office: _Office, output: Path, user: str, pair: Pair, outcome: Outcome) -> None:
    """Write the files of a program that are not as wanted, and the copy that a revocation needs before them."""
    certificate, key = pair
    text = certificate.public_bytes(PEM)
    wanted = {
        CERTIFICATE: text,
        KEY: key.private_bytes(PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()),
    }
    files = {suffix: content for suffix, content in wanted.items() if content_of(output / f"{user}{suffix}") != content}
    password = content_of(output / f"{user}{PASSWORD}").decode(errors="replace").strip()
    if files or not password or not holds_key(content_of(output / f"{user}{STORE}"), key, [certificate], password):
        password = secrets.token_urlsafe(PASSWORD_BYTES)
        files[STORE] = key_store(key, [certificate], password, user.encode())
        files[PASSWORD] = f"{password}\n".encode()
    outcome.files = [f"{user}{suffix}" for suffix in files]
    if office.dry:
        return
    copy = office.clients.directory / ISSUED / f"{outcome.serial}{CERTIFICATE}"
    if not copy.exists():
        private_directory(copy.parent)
        write(copy, text)
    if files:
        private_directory(output)
    for suffix, content in files.items():
        write(output / f"{user}{suffix}", content)


def _user(certificate: x509.Certificate) -> str:
    return "".join(str(one.value) for one in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME))


def _hexadecimal(serial: int) -> str:
    """As OpenSSL and nginx's log have it."""
    text = f"{serial:X}"
    return text.zfill(len(text) + len(text) % 2)


def _number(serial: str) -> int:
    try:
        number = int(serial.replace(":", ""), 16)
    except ValueError:
        number = 0
    if not 0 < number < 1 << 160:
        raise TlsError(f"{serial!r} (serial) is no serial number: these are hexadecimal, as in the log of a gateway.")
    return number


def _shown(certificate: x509.Certificate) -> dict[str, Any]:
    """What a diff shows of a certificate: nothing of it is secret."""
    return {
        "serial": _hexadecimal(certificate.serial_number),
        "ends": day(certificate.not_valid_after_utc),
        "sha256": certificate.fingerprint(hashes.SHA256()).hex(),
    }


def _shown_list(found: x509.CertificateRevocationList) -> dict[str, Any]:
    return {"ends": day(_end(found)), "revoked": sorted(_hexadecimal(one.serial_number) for one in found)}
