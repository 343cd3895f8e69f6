"""Tokens that are refused before they expire: all of a person whose password was checked until some moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hopshive.tenancy.login.clock import moment, seconds
from hopshive.tenancy.login.settings import DAY

if TYPE_CHECKING:
    from hopshive.database import Transaction

# What expires by itself.
_TABLES = ("login_limit", "login_code", "login_revocation")
# Rows that one transaction deletes from a table.
BATCH = 1000


def revoke(tx: Transaction, account: str) -> None:
    """Refuse all tokens of the account that were issued until now. A row stays for a day, longer than any token lives."""
    tx.execute(
        "INSERT INTO {state}.login_revocation (account, revoked_at, expires)"
        " VALUES (%s, UTC_TIMESTAMP(6), UTC_TIMESTAMP(6) + INTERVAL %s SECOND)"
        " ON DUPLICATE KEY UPDATE revoked_at = VALUES(revoked_at), expires = VALUES(expires)",
        (account.encode(), DAY),
    )


def is_revoked(tx: Transaction, account: str, checked: float) -> bool:
    """Whether tokens of a password that was checked at `checked` (seconds since 1970) are refused."""
    before = tx.value("SELECT revoked_at FROM {state}.login_revocation WHERE account = %s", (account.encode(),))
    # Both have microseconds, and a float of today's seconds does not hold them exactly.
    return before is not None and moment(checked) <= moment(seconds(before))


def prune(tx: Transaction) -> int:
    """Delete rows that expired, some of each table; how many."""
    return sum(
        tx.execute(f"DELETE FROM {{state}}.{table} WHERE expires <= UTC_TIMESTAMP(6) LIMIT %s", (BATCH,))
        for table in _TABLES
    )
