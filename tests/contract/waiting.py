"""Waiting for what must become true."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# Seconds between two looks.
LOOK = 0.2


def eventually(ask: Callable[[], object], wanted: object, timeout: float = 30) -> None:
    """Ask until the answer is the wanted one; AssertionError with the last one after `timeout` seconds."""
    deadline = time.monotonic() + timeout
    while (answer := ask()) != wanted and time.monotonic() < deadline:
        time.sleep(LOOK)
    assert answer == wanted, f"after {timeout:.0f} s: {answer!r}, not {wanted!r}"
