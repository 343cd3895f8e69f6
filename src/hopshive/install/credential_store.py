"""A credential store on this host: its file, the record of its secrets, its owner, group and mode."""

from __future__ import annotations

import grp
import hashlib
import hmac
import json
import os
import pwd
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


# scrypt's cost: 16 MiB and about 50 ms.
_SCRYPT = {"n": 2**14, "r": 8, "p": 1}
_PROVIDER = re.compile(r"(?:local)?jceks://file(/.+)")


class CredentialError(Exception):
    """The store could not be brought to its state; the message is a sentence for the operator, without the secret."""


@dataclass(frozen=True)
class Attributes:
    """Owner and group by name, mode in octal. None leaves one as it is; of a new store: the caller's, and 0600."""

    owner: str | None = None
    group: str | None = None
    mode: int | None = None


@dataclass(frozen=True)
class Store:
    """One credential store: `localjceks://file/etc/x.jceks` or `jceks://file/etc/x.jceks`."""

    provider: str

    @property
    def path(self) -> Path:
        """The file. Raises CredentialError for a store that is not a local file."""
        found = _PROVIDER.fullmatch(self.provider)
        if not found:
            raise CredentialError(
                f"The provider {self.provider!r} is no local file: give it as localjceks://file/etc/hive/name.jceks."
            )
        return Path(found.group(1))

    def at(self, path: Path) -> str:
        """The provider of another file of the same kind."""
        return f"{self.provider.partition('://')[0]}://file{path}"

    @property
    def record_path(self) -> Path:
        """The file with the record, beside the store, of mode 0600."""
        return self.path.with_name(f".{self.path.name}.hopshive")


def checksum_path(path: Path) -> Path:
    """The companion that Hadoop's checksummed local file system (`jceks://file`) writes, and wants to agree."""
    return path.with_name(f".{path.name}.crc")


@dataclass
class Record:
    """What is known of a store without a JVM. `aliases` maps an alias to salt and digest, in hex."""

    store: str = ""
    aliases: dict[str, dict[str, str]] = field(default_factory=dict)

    def holds(self, alias: str, secret: str) -> bool:
        """Whether the alias has this secret."""
        entry = self.aliases.get(alias)
        return entry is not None and hmac.compare_digest(digest(secret, bytes.fromhex(entry["salt"])), entry["digest"])

    def remember(self, alias: str, secret: str) -> None:
        """Note the digest of an alias's new secret, with a new salt."""
        salt = os.urandom(16)
        self.aliases[alias] = {"salt": salt.hex(), "digest": digest(secret, salt)}


def digest(secret: str, salt: bytes) -> str:
    """The scrypt digest of a secret, in hex: equal for the same secret and salt, and no way back to the secret."""
    return hashlib.scrypt(secret.encode(), salt=salt, dklen=32, **_SCRYPT).hex()


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def read_record(store: Store) -> Record:
    """The record of a store; an empty one if there is none, or if the store has changed since."""
    try:
        raw = json.loads(store.record_path.read_text())
        record = Record(str(raw["store"]), {str(alias): dict(entry) for alias, entry in raw["aliases"].items()})
        return record if record.store == sha256(store.path) else Record()
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Record()


def attributes_of(path: Path) -> Attributes:
    """Owner, group and mode of a file; ids without a name as numbers."""
    status = path.stat()
    try:
        owner = pwd.getpwuid(status.st_uid).pw_name
    except KeyError:
        owner = str(status.st_uid)
    try:
        group = grp.getgrgid(status.st_gid).gr_name
    except KeyError:
        group = str(status.st_gid)
    return Attributes(owner, group, status.st_mode & 0o7777)


def shown(path: Path) -> dict[str, str]:
    """A store's attributes for a diff; empty if it is not there."""
    if not path.exists():
        return {}
    there = attributes_of(path)
    return {"owner": there.owner or "", "group": there.group or "", "mode": f"{there.mode or 0:04o}"}


def foreseen(before: dict[str, str], wanted: Attributes) -> dict[str, str]:
    """`shown` of a store after a change, for check mode."""
    asked = {
        "owner": wanted.owner,
        "group": wanted.group,
        "mode": None if wanted.mode is None else f"{wanted.mode:04o}",
    }
    return before | {name: value for name, value in asked.items() if value is not None}


def differing(wanted: Attributes, there: Attributes) -> bool:
    """Whether the store lacks a wanted owner, group or mode."""
    return any(
        want is not None and want != have
        for want, have in ((wanted.owner, there.owner), (wanted.group, there.group), (wanted.mode, there.mode))
    )
