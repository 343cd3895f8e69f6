"""People in a YAML file, for labs: passwords as argon2id hashes, secrets of one-time codes, projects.

people:
  alice@example.org:
    account: alice
    password: $argon2id$...       # hopshive login hash-password
    totp: JBSWY3DPEHPK3PXPJBSWY3DP   # Base32, optional
    projects: {sales: owner}      # optional
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import argon2
import yaml

from hopshive.access import denial
from hopshive.errors import Refused
from hopshive.tenancy.login.backends.base import Person
from hopshive.tenancy.login.codes import is_right, is_secret
from hopshive.tenancy.login.errors import Denied, Unavailable
from hopshive.tenancy.members import ROLES
from hopshive.tenancy.names import BadName, check_account, check_login, project_user

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hopshive.tenancy.login.backends.base import Credentials

log = logging.getLogger(__name__)

# 19 MiB, two passes, one lane, as OWASP's Password Storage Cheat Sheet says. argon2-cffi takes 64 MiB, three passes and seven
# times the processor: 0.17 s for each session that a person opens. The limits of wrong passwords guard against guessing.
HASHER = argon2.PasswordHasher(time_cost=2, memory_cost=19456, parallelism=1, type=argon2.Type.ID)
_KEYS = ("account", "password", "totp", "projects")


@dataclass(frozen=True)
class _Entry:
    account: str
    hash: str = field(repr=False)
    totp: str = field(default="", repr=False)
    projects: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _People:
    """`dummy`: a hash that costs as much as those of the file, of a random password."""

    entries: Mapping[str, _Entry]
    dummy: str = field(repr=False)


class PeopleFile:
    """The file, read again when it changes. A file that cannot be used keeps the people of before."""

    title = "The people file"

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._lock = threading.Lock()
        self._problem = ""
        self._stamp = self._look()
        self._people = _read(self._path)
        # A hash takes its memory and a core.
        self._threads = ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="argon2")

    async def authenticate(self, typed: Credentials) -> Person:
        """The person who typed this. Raises Denied."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._authenticate, typed)

    async def probe(self) -> None:
        """Raises Unavailable while the file cannot be used; people of before log in all the same."""
        self._refreshed()
        if self._problem:
            raise Unavailable(self.title, self._problem)

    async def projects(self, account: str) -> Mapping[str, str] | None:
        """Roles of an account by project, as the file has them now."""
        people = self._refreshed()
        return next((one.projects for one in people.entries.values() if one.account == account), {})

    async def close(self) -> None:
        """Take no more passwords."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _authenticate(self, typed: Credentials) -> Person:
        people = self._refreshed()
        entry = people.entries.get(typed.name.casefold())
        password = typed.password if entry is None or entry.totp else typed.whole or typed.password
        right = _matches(entry.hash if entry else people.dummy, password)
        if entry is None:
            raise Denied("unknown name")
        if not right:
            raise Denied("wrong password")
        if not entry.totp:
            return Person(entry.account, entry.projects)
        if not typed.code:
            raise Denied("no one-time code")
        if not is_right(entry.totp, typed.code, typed.at):
            raise Denied("wrong one-time code")
        return Person(entry.account, entry.projects, typed.code)

    def _refreshed(self) -> _People:
        with self._lock:
            stamp = self._look()
            if stamp != self._stamp:
                self._stamp = stamp
                try:
                    self._people = _read(self._path)
                except Refused as error:
                    self._problem = str(error)
                    log.error("%s The people of before still log in.", error)
                else:
                    self._problem = ""
                    log.info("%s was read again.", self._path)
            return self._people

    def _look(self) -> tuple[int, int, int]:
        """What changes with the file; zeros if it is not there."""
        try:
            found = self._path.stat()
        except OSError:
            return 0, 0, 0
        return found.st_mtime_ns, found.st_size, found.st_ino


def _matches(hashed: str, password: str) -> bool:
    try:
        return HASHER.verify(hashed, password)
    except argon2.exceptions.VerificationError:
        return False


def _read(path: Path) -> _People:
    """Raises Refused, which names file and person, and shows no hash and no secret."""
    try:
        content = yaml.safe_load(path.read_text())
    except OSError as error:
        reason = denial(path) if isinstance(error, PermissionError) else error.strerror
        raise Refused(f"{path} (file.path) cannot be read: {reason}.") from None
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" in line {mark.line + 1}" if mark else ""
        raise Refused(f"{path} is not YAML{where}.") from None
    people = content.get("people") if isinstance(content, dict) and list(content) == ["people"] else None
    if not isinstance(people, dict) or not people:
        raise Refused(f"{path} must hold people: and below it one login name or more.")
    entries: dict[str, _Entry] = {}
    accounts: set[str] = set()
    for name, found in people.items():
        entry = _entry(path, str(name), found)
        if str(name).casefold() in entries or entry.account in accounts:
            raise Refused(f"{path}: {name}: another person has this name or account.")
        entries[str(name).casefold()] = entry
        accounts.add(entry.account)
    parameters = argon2.extract_parameters(next(iter(entries.values())).hash)
    hasher = argon2.PasswordHasher(parameters.time_cost, parameters.memory_cost, parameters.parallelism)
    return _People(entries, hasher.hash(secrets.token_hex(32)))


def _entry(path: Path, name: str, found: Any) -> _Entry:
    def problem(said: str) -> Refused:
        return Refused(f"{path}: {name}: {said}")

    if not isinstance(found, dict) or set(found) - set(_KEYS):
        raise problem(f"a person has {', '.join(_KEYS)}.")
    projects = found.get("projects") or {}
    try:
        check_login(name)
        account = check_account(str(found.get("account", "")))
        if not isinstance(projects, dict) or not all(role in ROLES for role in projects.values()):
            raise problem(f"projects is project: role, with one of {', '.join(ROLES)}.")
        for project in projects:
            project_user(str(project), account)
        argon2.extract_parameters(str(found.get("password", "")))
    except BadName as error:
        raise problem(str(error)) from None
    except argon2.exceptions.InvalidHashError:
        raise problem("password is a hash of argon2, which hopshive login hash-password makes.") from None
    totp = str(found.get("totp") or "").replace(" ", "").upper()
    if totp and not is_secret(totp):
        raise problem("totp is not Base32 of 14 bytes or more.")
    return _Entry(account, str(found["password"]), totp, {str(name): str(role) for name, role in projects.items()})
