"""The people of a lab with logins: their passwords and codes as the controller keeps them, and what they log in to."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyotp

from tests.warehouse.hiveserver2 import HiveSession
from tests.warehouse.hosts import find_lab

if TYPE_CHECKING:
    from tests.warehouse.hosts import Host, Lab

SEPARATOR = "+"
SERVER2_PORT, SERVER2_HTTP_PORT, LOGIN_PORT, GATEWAY_PORT = 10000, 10001, 9443, 10443


@dataclass(frozen=True)
class Person:
    """Someone who logs in as `<account>@example.org`."""

    account: str
    secrets: Path

    @property
    def name(self) -> str:
        """What the person types."""
        return f"{self.account}@example.org"

    @property
    def password(self) -> str:
        """What the person types besides, without a code."""
        return (self.secrets / self.account).read_text().strip()

    def code(self) -> str:
        """A one-time code that was not used in this process. Waits up to half a minute for it."""
        totp = pyotp.TOTP((self.secrets / f"{self.account}_totp").read_text().strip())
        while (code := totp.now()) in _used:
            time.sleep(0.5)
        _used.add(code)
        return code

    def password_and_code(self) -> str:
        """For clients that know only a password."""
        return f"{self.password}{SEPARATOR}{self.code()}"


_used: set[str] = set()


@dataclass(frozen=True)
class PeopleLab:
    """A lab of inventories/lab_tenancy, or of the scenario `tenancy`."""

    lab: Lab
    state: Path

    @classmethod
    def find(cls, label: str = "tenancy") -> PeopleLab:
        """The one with a lab label. Raises LookupError."""
        states = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state")
        return cls(find_lab(label), states / "hopshive" / label)

    def person(self, account: str) -> Person:
        """By the account."""
        return Person(account, self.state / "secrets")

    @property
    def authority(self) -> Path:
        """The certificate of the authority that signs those of the hosts."""
        return self.state / "tls/authority.pem"

    def certificate(self, account: str) -> tuple[Path, Path]:
        """The client certificate of an account and its key."""
        return self.state / f"clients/{account}.pem", self.state / f"clients/{account}.key"

    def session(
        self,
        person: Person,
        project: str = "",
        password: str | None = None,
        host: Host | None = None,
        configuration: dict[str, str] | None = None,
        timeout: float = 300,
    ) -> HiveSession:
        """A session of HiveServer2, over TLS, which is opened by its first statement."""
        known = {"use:database": project} if project else {}
        return HiveSession(
            (host or self.lab.one("server2")).address,
            SERVER2_PORT,
            person.name,
            timeout=timeout,
            password=person.password if password is None else password,
            configuration=known | (configuration or {}),
            authority=self.authority,
        )
