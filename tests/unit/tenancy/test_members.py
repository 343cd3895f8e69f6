"""Rows of project_member: exact in each byte, and no longer than an account may be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hopshive.tenancy import members
from hopshive.tenancy.names import BadName

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hopshive.database import Database
    from tests.support.login_site import LoginSite


@pytest.fixture
def database(site: LoginSite) -> Iterator[Database]:
    found = site.database()
    yield found
    found.close()


def test_a_member_has_one_role(database: Database) -> None:
    with database.transaction() as tx:
        members.add(tx, "sales", "alice", "member")
        members.add(tx, "sales", "alice", "owner")
        assert members.role_of(tx, "sales", "alice") == "owner"
        assert members.remove(tx, "sales", "alice")
        assert not members.remove(tx, "sales", "alice")
        assert members.role_of(tx, "sales", "alice") == ""


def test_names_are_compared_byte_by_byte(database: Database) -> None:
    with database.transaction() as tx:
        members.add(tx, "sales", "alice", "member")
        for project, account in (
            ("SALES", "alice"),
            ("sales", "Alice"),
            ("sales", "alice "),
            ("sales ", "alice"),
            ("sales", "\u0430lice"),
            ("sales", "alic\u00e9"),
            ("sale", "salice"),
            ("sales", ""),
            ("sales", "a" * 1000),
        ):
            assert members.role_of(tx, project, account) == ""


@pytest.mark.parametrize(
    ("project", "account"),
    [("p" * 15, "a" * 16), ("a__b", "c"), ("a", "b__c"), ("sales", "\u0430lice"), ("", ""), ("sales", "a/b")],
)
def test_what_is_no_name_gets_no_row(database: Database, project: str, account: str) -> None:
    with database.transaction() as tx:
        with pytest.raises(BadName):
            members.add(tx, project, account, "member")
        assert tx.value("SELECT COUNT(*) FROM {state}.project_member") == 0


def test_a_role_is_one_of_three(database: Database) -> None:
    with database.transaction() as tx, pytest.raises(ValueError, match="'admin' is no role of a project: owner"):
        members.add(tx, "sales", "alice", "admin")
