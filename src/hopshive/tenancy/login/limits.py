"""How many wrong attempts a name or an address has: rows that all replicas share, by the clock of the database.

An attempt is pending from before its password is looked at until it was right or wrong. Wrong and pending ones together never
exceed the limit, so many attempts at once are not more guesses than one after another. A window begins with the first
attempt, and its row is deleted after its end. What a replica that was killed left pending ends with the window.
"""

from __future__ import annotations

import hashlib
import ipaddress
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopshive.tenancy.login.clock import NOW, seconds
from hopshive.tenancy.login.errors import Limited

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hopshive.database import Transaction
    from hopshive.tenancy.login.settings import Limits

NAME = "name"
ADDRESS = "address"
# Bits of an IPv6 address that one subscriber has.
SUBSCRIBER = 64


class Busy(Limited):
    """So many attempts are pending that with them the limit would be reached: when they end, the next may begin."""


@dataclass(frozen=True)
class Subject:
    """What attempts are counted for: `kind` NAME or ADDRESS; `key` 32 bytes; `most` wrong attempts in a window."""

    kind: str
    key: bytes
    most: int


def subjects(limits: Limits, name: str, address: str) -> list[Subject]:
    """In the order in which all replicas lock their rows. Upper and lower case are one name. Without a name, the address."""
    found = [Subject(ADDRESS, _digest(_network(address)), limits.address)]
    return found + ([Subject(NAME, _digest(name.casefold()), limits.name)] if name else [])


def begin(tx: Transaction, of: Sequence[Subject], window: float) -> None:
    """An attempt begins. Raises Limited after too many wrong ones, and Busy; then the transaction must be rolled back."""
    for subject in of:
        # An expired row is one of the next window.
        tx.execute(
            "INSERT INTO {state}.login_limit (kind, subject, wrong, pending, expires) VALUES"
            " (%s, %s, 0, 1, UTC_TIMESTAMP(6) + INTERVAL %s MICROSECOND) ON DUPLICATE KEY UPDATE"
            " wrong = IF(expires <= UTC_TIMESTAMP(6), 0, wrong),"
            " pending = IF(expires <= UTC_TIMESTAMP(6), 1, pending + 1),"
            " expires = IF(expires <= UTC_TIMESTAMP(6), VALUES(expires), expires)",
            (subject.kind, subject.key, round(window * 1e6)),
        )
        wrong, pending, left = _row(tx, subject)
        if wrong >= subject.most:
            raise _limited(subject, left)
        if wrong + pending > subject.most:
            raise Busy(max(1, math.ceil(left)), f"too many attempts of this {subject.kind} at once")


def strike(tx: Transaction, of: Sequence[Subject], window: float) -> None:
    """An attempt was wrong that has not begun: a token, which no client guesses, is looked at first. Raises Limited."""
    begin(tx, of, window)
    end(tx, of, wrong=True)


def end(tx: Transaction, of: Sequence[Subject], *, right: bool = False, wrong: bool = False) -> None:
    """An attempt that has begun was right, or wrong, or could not be looked at.

    A name that was right begins again. An address does not: a guesser would log in as itself after each few guesses.
    """
    for subject in of:
        tx.execute(
            "UPDATE {state}.login_limit SET pending = GREATEST(pending - 1, 0), wrong = IF(%s, 0, wrong + %s)"
            " WHERE kind = %s AND subject = %s",
            (right and subject.kind == NAME, int(wrong), subject.kind, subject.key),
        )


def _row(tx: Transaction, subject: Subject) -> tuple[int, int, float]:
    """Wrong and pending attempts, and seconds that are left of the window."""
    found = tx.row(
        f"SELECT wrong, pending, expires, ({NOW}) FROM {{state}}.login_limit WHERE kind = %s AND subject = %s",
        (subject.kind, subject.key),
    )
    return (int(found[0]), int(found[1]), seconds(found[2]) - seconds(found[3])) if found else (0, 0, 0.0)


def _limited(subject: Subject, left: float) -> Limited:
    return Limited(max(1, math.ceil(left)), f"too many attempts of this {subject.kind}")


def _network(address: str) -> str:
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((found, SUBSCRIBER), strict=False))
    return str(found)


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
