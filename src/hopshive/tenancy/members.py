"""Members of projects: the rows of project_member."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopshive.tenancy.names import check_account, project_user

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hopshive.database import Transaction

OWNER = "owner"
MEMBER = "member"
READER = "reader"
ROLES = (OWNER, MEMBER, READER)


def role_of(tx: Transaction, project: str, account: str) -> str:
    """Role of an account in a project; empty if it is not a member."""
    found = tx.value(
        "SELECT role FROM {state}.project_member WHERE project = %s AND account = %s",
        (project.encode(), account.encode()),
    )
    return str(found or "")


def add(tx: Transaction, project: str, account: str, role: str) -> None:
    """Make the account a member, or change its role. Raises BadName, and ValueError for an unknown role."""
    project_user(project, check_account(account))
    if role not in ROLES:
        raise ValueError(f"{role!r} is no role of a project: {', '.join(ROLES)}")
    tx.execute(
        "REPLACE INTO {state}.project_member (project, account, role) VALUES (%s, %s, %s)",
        (project.encode(), account.encode(), role),
    )


def remove(tx: Transaction, project: str, account: str) -> bool:
    """Whether there was such a member. Its tokens for the project are refused from now on."""
    return bool(
        tx.execute(
            "DELETE FROM {state}.project_member WHERE project = %s AND account = %s",
            (project.encode(), account.encode()),
        )
    )


def all_of(tx: Transaction) -> dict[str, dict[str, str]]:
    """Role of each account in each project: project to account to role."""
    found: dict[str, dict[str, str]] = {}
    for project, account, role in tx.rows("SELECT project, account, role FROM {state}.project_member"):
        found.setdefault(bytes(project).decode(), {})[bytes(account).decode()] = str(role)
    return found


def differences(
    there: Mapping[str, Mapping[str, str]], wanted: Mapping[str, Mapping[str, str]]
) -> dict[str, list[str]]:
    """What `bring` would change, by project."""
    found = {}
    for project in sorted({*there, *wanted}):
        before, after = there.get(project, {}), wanted.get(project, {})
        lines = [
            f"{account}: {after.get(account, 'no longer a member')}"
            for account in sorted({*before, *after})
            if before.get(account) != after.get(account)
        ]
        if lines:
            found[project] = lines
    return found


def bring(tx: Transaction, wanted: Mapping[str, Mapping[str, str]]) -> dict[str, list[str]]:
    """Make the table say this and nothing else; what changed, by project. Raises BadName and ValueError as `add`."""
    there = all_of(tx)
    for project in sorted({*there, *wanted}):
        before, after = there.get(project, {}), wanted.get(project, {})
        for account in before.keys() - after.keys():
            remove(tx, project, account)
        for account, role in after.items():
            if before.get(account) != role:
                add(tx, project, account, role)
    return differences(there, wanted)
