"""Projects as an inventory lists them: who takes part, with which accounts and groups, and what storage lets them do.

A project `sales` has two groups. All its members are in `sales`, which reads. Those who write are in `sales__writers` too. A
member has the account `sales__alice`. Membership changes change groups, never the ACLs of files: a directory of a million files
needs no walk when a person joins or leaves.
"""

from __future__ import annotations

import base64
import binascii
import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hopshive.config import ConfigError, made
from hopshive.tenancy.names import LONGEST, RESERVED, BadName, check_account, check_project, project_user

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

VARIABLE = "projects"
WRITERS = "__writers"
# Databases of Hive's own.
NO_PROJECT = ("default", "information_schema", "sys")
UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50}
# The most entries that the NameNode takes of an ACL.
MOST_ENTRIES = 32
# Entries of every project's ACL: user, group, other, mask, the service and the writers.
_OWN_ENTRIES = 6
# A line of authorized_keys without options: type, key, and what may follow.
_SSH_KEY = re.compile(r"(?P<type>(?:sk-)?(?:ssh|ecdsa)-[a-z0-9@.-]+) (?P<key>[A-Za-z0-9+/]+={0,2})(?: [ -~]*)?")


@dataclass(frozen=True)
class Member:
    """A person in a project. `id` is the number of the account `<project>__<person>` on all hosts.

    An owner always writes. A member writes if the project says so. A reader never does. `ssh_keys`: public keys that let the
    person log in to client hosts as that account.
    """

    id: int = 0
    role: Literal["owner", "member", "reader"] = "member"
    ssh_keys: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Settings:
    """What an inventory says of a project. `id`, and the number after it, are the numbers of its two groups.

    `space_quota`: bytes of all replicas, with a unit of 1024 (K, M, G, T, P); `name_quota`: files and directories. Both are of
    each of the project's two directories, and "" or 0 means no quota. `readers`: projects whose members may read.
    """

    id: int = 0
    members_write: bool = True
    space_quota: str = ""
    name_quota: int = 0
    readers: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Project:
    """A checked project. Quotas are in bytes and in names, 0 without one."""

    name: str
    id: int
    members: Mapping[str, Member]
    members_write: bool = True
    space_quota: int = 0
    name_quota: int = 0
    readers: tuple[str, ...] = ()

    @property
    def writers_group(self) -> str:
        """The group of those who write."""
        return self.name + WRITERS

    @property
    def groups(self) -> dict[str, int]:
        """Its groups with their numbers."""
        return {self.name: self.id, self.writers_group: self.id + 1}

    @property
    def users(self) -> dict[str, int]:
        """Its accounts with their numbers."""
        return {project_user(self.name, person): member.id for person, member in self.members.items()}

    @property
    def ssh_keys(self) -> dict[str, list[str]]:
        """Public keys of its accounts, those that have some."""
        return {
            project_user(self.name, person): member.ssh_keys
            for person, member in self.members.items()
            if member.ssh_keys
        }

    @property
    def writers(self) -> list[str]:
        """Accounts that write in the project's directories."""
        writing = {"owner"} | ({"member"} if self.members_write else set())
        return [project_user(self.name, person) for person, member in self.members.items() if member.role in writing]

    def acl(self, service: str) -> frozenset[str]:
        """The whole ACL of a directory, as HDFS writes entries; `service` is the account of the metastore."""
        named = {f"user:{service}:rwx", f"group:{self.writers_group}:rwx"}
        named |= {f"group:{reader}:r-x" for reader in self.readers}
        entries = {"user::rwx", "group::r-x", "other::---", "mask::rwx", *named}
        return frozenset(entries | {f"default:{entry}" for entry in entries})


def read(content: object) -> dict[str, Project]:
    """The projects of the variable `projects`, by name.

    Raises:
        ConfigError: a name, number or setting is wrong; the message names it by its path in the variable.
    """
    if not isinstance(content, dict):
        raise ConfigError(f"{VARIABLE} must hold projects as `name: settings`.")
    projects = {name: _project(name, settings) for name, settings in content.items()}
    for project in projects.values():
        for reader in project.readers:
            if reader not in projects or reader == project.name:
                raise ConfigError(f"{VARIABLE}.{project.name}.readers: {reader} is not another project.")
    _check_numbers("the group", [numbered for project in projects.values() for numbered in project.groups.items()])
    _check_numbers("the user", [numbered for project in projects.values() for numbered in project.users.items()])
    return projects


def _project(name: Any, content: object) -> Project:
    place = f"{VARIABLE}.{name}"
    if not isinstance(name, str):
        raise ConfigError(f"{place}: the name of a project is a text. Put it in quotes.")
    try:
        check_project(name)
    except BadName as error:
        raise ConfigError(f"{place}: {error}") from None
    if name in NO_PROJECT or name in RESERVED:
        raise ConfigError(f"{place}: {name} is no name of a project: Hive or a service has it.")
    if len(name + WRITERS) > LONGEST:
        raise ConfigError(f"{place}: a project has {LONGEST - len(WRITERS)} characters at most.")
    if not isinstance(content, dict):
        raise ConfigError(f"{place} must hold settings as `name: value`.")
    members = dict(_members(place, name, content.get("members")))
    settings = made(Settings, {key: value for key, value in content.items() if key != "members"}, Path(place))
    _check_number(place, settings.id)
    if not any(member.role == "owner" for member in members.values()):
        raise ConfigError(f"{place}.members: a project has an owner at least (`role: owner`).")
    if len(settings.readers) > MOST_ENTRIES - _OWN_ENTRIES:
        raise ConfigError(f"{place}.readers: {MOST_ENTRIES - _OWN_ENTRIES} projects at most can read another one.")
    return Project(
        name,
        settings.id,
        members,
        settings.members_write,
        bytes_of(settings.space_quota, f"{place}.space_quota"),
        settings.name_quota,
        tuple(settings.readers),
    )


def _members(place: str, project: str, content: object) -> Iterator[tuple[str, Member]]:
    if not isinstance(content, dict) or not content:
        raise ConfigError(f"{place}.members must hold people as `account: {{id: number, role: owner}}`.")
    for person, settings in content.items():
        where = f"{place}.members.{person}"
        try:
            project_user(project, check_account(str(person)))
        except BadName as error:
            raise ConfigError(f"{where}: {error}") from None
        member = made(Member, settings, Path(where))
        _check_number(where, member.id)
        for number, key in enumerate(member.ssh_keys):
            check_ssh_key(key, f"{where}.ssh_keys[{number}]")
        yield str(person), member


def check_ssh_key(text: str, place: str) -> None:
    """Raises ConfigError, without the text, unless it is one public key without options."""
    if "PRIVATE KEY" in text:
        raise ConfigError(f"{place} is a private key. Name the public one: the line of the file that ends with .pub.")
    found = _SSH_KEY.fullmatch(text)
    with suppress(binascii.Error):
        # The key repeats its type, after four bytes of length.
        if found and base64.b64decode(found["key"])[4:].startswith(found["type"].encode()):
            return
    raise ConfigError(f"{place} must be one public key of SSH without options, such as `ssh-ed25519 AAAA... alice`.")


def _check_number(place: str, number: int) -> None:
    # Below are the accounts of the system and of people who log in to hosts. 65534 is the user of no account.
    if not 2000 <= number < 65534 and not 65536 <= number < 1 << 31:
        raise ConfigError(f"{place}.id must be a number from 2000, and neither 65534 nor 65535; it is {number}.")


def _check_numbers(what: str, numbered: list[tuple[str, int]]) -> None:
    taken: dict[int, str] = {}
    for name, number in numbered:
        if number in taken:
            raise ConfigError(
                f"{VARIABLE}: {what} {name} has the number {number}, which is that of {taken[number]}. "
                "A project takes two numbers for its groups: its id and the next one."
            )
        taken[number] = name


def bytes_of(text: str, place: str) -> int:
    """`10T` in bytes, 0 for "". Raises ConfigError with the place."""
    found = re.fullmatch(r"(\d+)([KMGTP]?)", text)
    if text and not found:
        raise ConfigError(f"{place} must be a number with K, M, G, T or P, such as 10T; it is {text!r}.")
    return int(found[1]) * UNITS[found[2]] if found else 0
