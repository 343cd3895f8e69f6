"""Names of people, accounts, projects: which are accepted, and that no two project users are one."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import pytest

from hopshive.tenancy.names import (
    LONGEST,
    LONGEST_LOGIN,
    BadName,
    Typed,
    check_account,
    check_login,
    check_project,
    parts,
    project_user,
    typed,
)

if TYPE_CHECKING:
    from collections.abc import Callable

# The Cyrillic letter, the full-width one, the ligature, the long s, the Kelvin sign, a letter with a combining accent.
LOOKALIKES = ("\u0430lice", "\uff41lice", "\ufb01n", "\u017fales", "\u212aate", "e\u0301ve")


def accepted(check: Callable[[str], str]) -> list[str]:
    """All short texts that are names."""
    found = []
    for length in range(1, 6):
        for letters in product("a1_.", repeat=length):
            try:
                found.append(check("".join(letters)))
            except BadName:
                continue
    return found


def test_no_two_project_users_are_one_and_none_is_an_account() -> None:
    """Else a person would be another one in a project, or have the rights of another project."""
    accounts = accepted(check_account)
    pairs = list(product(accepted(check_project), accounts))
    users = {project_user(project, account): (project, account) for project, account in pairs}
    assert len(pairs) > 1000
    assert len(users) == len(pairs)
    assert not set(users) & set(accounts)
    assert {user: parts(user) for user in users} == users
    assert [parts(account) for account in accounts] == [("", account) for account in accounts]


@pytest.mark.parametrize(
    ("project", "account"),
    [
        ("a__b", "c"),
        ("a", "b__c"),
        ("a_", "b"),
        ("a", "_b"),
        ("a", "b_"),
        ("_a", "b"),
        ("a", ""),
        ("a", "__b"),
        ("sales", "alice__"),
    ],
)
def test_parts_that_would_collide_are_refused(project: str, account: str) -> None:
    with pytest.raises(BadName):
        project_user(project, account)


@pytest.mark.parametrize("user", ["", "__", "a__", "__a", "a__b__c", "a___b", "a_", "A__b", "a/b__c"])
def test_what_is_no_project_user_has_no_parts(user: str) -> None:
    with pytest.raises(BadName):
        parts(user)


def test_a_project_user_has_the_length_of_an_operating_system_account() -> None:
    project, account = "p" * 15, "a" * 15
    assert len(project_user(project, account)) == LONGEST
    for longer in ((project + "p", account), (project, account + "a")):
        with pytest.raises(BadName, match=f"{LONGEST} characters at most, and this one has {LONGEST + 1}"):
            project_user(*longer)
    assert check_account("a" * LONGEST)
    assert check_project("p" * LONGEST)
    for check in (check_account, check_project):
        with pytest.raises(BadName):
            check("a" * (LONGEST + 1))


@pytest.mark.parametrize("name", ["alice", "alice.liddell", "alice-l", "a.b-c_d", "a1", "a"])
def test_accounts(name: str) -> None:
    assert check_account(name) == name


BAD = [
    "",
    "Alice",
    "1a",
    "-a",
    ".a",
    "a..b",
    "a.-b",
    "a.",
    "a b",
    "a\n",
    "a\0",
    "a/b",
    "../a",
    "a@b",
    "a#b",
    "a$",
    "a:b",
]


@pytest.mark.parametrize("name", [*BAD, *LOOKALIKES])
def test_no_accounts_and_no_projects(name: str) -> None:
    for check in (check_account, check_project):
        with pytest.raises(BadName) as error:
            check(name)
        assert not name or name not in str(error.value)


@pytest.mark.parametrize("name", ["a.b", "a-b"])
def test_no_projects(name: str) -> None:
    """A project is a database, and Hive's parser takes neither unquoted."""
    with pytest.raises(BadName):
        check_project(name)


@pytest.mark.parametrize("name", ["alice", "alice@example.org", "Zoë", "\u65e5\u672c@example.org", "o'neill", "a b"])
def test_login_names(name: str) -> None:
    assert check_login(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        " alice",
        "alice ",
        "a\tb",
        "a\nb",
        "a\rb",
        "a\0b",
        "a\x1bb",
        "a\u200bb",
        "a\u202eb",
        "a\u2028b",
        "a\u00a0b",
        "a/b",
        "a#b",
        "\uff41lice",
        "\ufb01n",
        "e\u0301ve",
        "\u212aate",
        "a" * (LONGEST_LOGIN + 1),
    ],
)
def test_no_login_names(name: str) -> None:
    """Nothing that does not print, that looks like another text, or that a path or a header would read in its own way."""
    with pytest.raises(BadName):
        check_login(name)


def test_a_login_name_has_the_length_of_an_address() -> None:
    assert check_login("a" * LONGEST_LOGIN)


@pytest.mark.parametrize(
    ("name", "database", "found"),
    [
        ("alice", "", Typed("alice")),
        ("alice", "default", Typed("alice")),
        ("alice", "sales", Typed("alice", "sales")),
        ("alice#sales", "", Typed("alice", "sales")),
        ("alice#sales", "default", Typed("alice", "sales")),
        ("alice#sales", "hr", Typed("alice", "hr")),
        ("alice", "SALES", Typed("alice", "sales")),
    ],
)
def test_the_database_counts_before_the_mark(name: str, database: str, found: Typed) -> None:
    assert typed(name, database) == found


@pytest.mark.parametrize(
    ("name", "database"),
    [("alice#", ""), ("alice#Sales", ""), ("alice#a#b", ""), ("#sales", ""), ("", ""), ("alice", "\u212aelvin")],
)
def test_what_is_typed_wrong(name: str, database: str) -> None:
    """The Kelvin sign in lower case is the letter k."""
    with pytest.raises(BadName):
        typed(name, database)
