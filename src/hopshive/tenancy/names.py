"""Which names of people, accounts and projects are accepted.

A project user is `<project>__<account>`. Neither part holds `__`, no project ends with `_` and no account begins with it: so
each project user has one reading. Accounts and projects are names of operating system accounts, directories and databases
too: ASCII, lower case, without `/` and `@`.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

# An operating system account has 32 characters at most.
LONGEST = 32
# Of an e-mail address (RFC 5321).
LONGEST_LOGIN = 254
JOINT = "__"
# Between a login name and a project, for clients that send no database.
MARK = "#"
# A separator stands alone, and between letters or digits.
_PROJECT = re.compile(r"[a-z](?:[a-z0-9]|_(?=[a-z0-9]))*")
_ACCOUNT = re.compile(r"[a-z](?:[a-z0-9]|[._-](?=[a-z0-9]))*")
# Accounts of services, which have rights on the cluster that no person gets by logging in.
RESERVED = (
    "daemon",
    "hadoop",
    "hdfs",
    "hive",
    "hopshive",
    "hopshive-gateway",
    "hopshive-login",
    "mapred",
    "mysql",
    "ndb",
    "root",
    "spark",
    "yarn",
    "zookeeper",
)


class BadName(ValueError):
    """A name is not accepted; the message is a sentence that does not repeat it."""


@dataclass(frozen=True)
class Typed:
    """What a person typed as a name: the login name, and the project that is asked for, if there is one."""

    name: str
    project: str = ""


def check_project(name: str) -> str:
    """The project as it is. Raises BadName."""
    if not _PROJECT.fullmatch(name) or len(name) > LONGEST:
        raise BadName(
            f"A project has lower case letters, digits and single underscores between them, {LONGEST} characters at most."
        )
    return name


def check_account(name: str) -> str:
    """The account as it is. Raises BadName: an e-mail address is a login name, not an account."""
    if not _ACCOUNT.fullmatch(name) or len(name) > LONGEST:
        raise BadName(
            "An account has lower case letters, digits, and single dots, hyphens and underscores between them, "
            f"{LONGEST} characters at most."
        )
    return name


def check_login(name: str) -> str:
    """The login name as it is. Raises BadName."""
    if not 0 < len(name) <= LONGEST_LOGIN:
        raise BadName(f"A login name has 1 to {LONGEST_LOGIN} characters.")
    if not name.isprintable() or name != name.strip():
        raise BadName("A login name has no control characters, and no spaces at its ends.")
    if unicodedata.normalize("NFKC", name) != name:
        raise BadName("A login name has no characters that stand for others (Unicode, NFKC).")
    if MARK in name or "/" in name:
        raise BadName(f"A login name has no {MARK} and no slash.")
    return name


def project_user(project: str, account: str) -> str:
    """`sales__alice`; the account alone without a project. Raises BadName."""
    if not project:
        return check_account(account)
    user = check_project(project) + JOINT + check_account(account)
    if len(user) > LONGEST:
        raise BadName(f"A project user has {LONGEST} characters at most, and this one has {len(user)}.")
    return user


def parts(user: str) -> tuple[str, str]:
    """Project and account of a project user; of an account no project. Raises BadName."""
    project, joint, account = user.partition(JOINT)
    if not joint:
        return "", check_account(user)
    project_user(check_project(project), account)
    return project, account


def typed(
    name: str, database: str = "", no_project: Collection[str] = ("default",), *, nameless: bool = False
) -> Typed:
    """Login name and project of what a client sent. The database counts before `name#project`. Raises BadName.

    `no_project`: databases that are no project's, such as the one that a JDBC URL without a database asks for.
    `nameless`: beside a token, the login name may be empty.
    """
    login, mark, named = name.rpartition(MARK)
    if not mark:
        login, named = name, ""
    # The Kelvin sign in lower case is the letter k.
    asked = database.lower() if database.isascii() else database
    project = asked if asked and asked not in no_project else named
    if mark and not named:
        raise BadName(f"A project follows the {MARK} in a login name.")
    return Typed(login if nameless and not login else check_login(login), check_project(project) if project else "")
