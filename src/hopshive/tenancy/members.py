"""Members of projects: the rows of project_member."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopshive.tenancy.names import check_account, project_user

if TYPE_CHECKING:
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
