"""One-time codes (TOTP, RFC 6238): which code is right, and that each is accepted once by all replicas."""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import TYPE_CHECKING

import pyotp

if TYPE_CHECKING:
    from hopshive.database import Transaction

# Seconds of a code, and codes before and after the present one that are accepted: clocks differ.
STEP = 30
DRIFT = 1
# Seconds after which no clock accepts a code again.
SPENT_FOR = STEP * (2 * DRIFT + 2)
_CODE = re.compile(r"[0-9]{6,8}")


def is_code(text: str) -> bool:
    """Whether it has the form of a one-time code."""
    return _CODE.fullmatch(text) is not None


def split(password: str, separator: str) -> tuple[str, str]:
    """Password and code of `password+code`; without a separator or a code, the password as it is."""
    if separator:
        head, mark, tail = password.rpartition(separator)
        if mark and head and is_code(tail):
            return head, tail
    return password, ""


def is_secret(text: str) -> bool:
    """Whether one-time codes can be made of it: Base32 of 112 bits or more (NIST SP 800-63B)."""
    try:
        pyotp.TOTP(text)
    except ValueError:
        return False
    return True


def is_right(secret: str, code: str, now: float) -> bool:
    """Whether a code is that of the secret (Base32) at a time, or one beside it. Takes as long for each wrong code."""
    totp = pyotp.TOTP(secret, interval=STEP)
    found = False
    for step in range(-DRIFT, DRIFT + 1):
        found |= hmac.compare_digest(totp.at(int(now), counter_offset=step).encode(), code.encode())
    return found


def spend(tx: Transaction, account: str, code: str) -> bool:
    """Whether the account has not used the code yet; then it is used."""
    key = (account.encode(), hashlib.sha256(f"{account} {code}".encode()).digest())
    tx.execute("DELETE FROM {state}.login_code WHERE account = %s AND expires <= UTC_TIMESTAMP(6)", key[:1])
    return bool(
        tx.execute(
            "INSERT IGNORE INTO {state}.login_code (account, code, expires)"
            " VALUES (%s, %s, UTC_TIMESTAMP(6) + INTERVAL %s SECOND)",
            (*key, SPENT_FOR),
        )
    )
