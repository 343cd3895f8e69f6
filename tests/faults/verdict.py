"""After a fault: everything works again by itself, and what clients were told is so."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from hopshive.hdfs.paths import PLACEHOLDER
from tests.warehouse.hosts import CommandError

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.faults.clients import HiveRows, Ledger
    from tests.faults.site import Site

Answer = TypeVar("Answer")
# Within that, in seconds, every service answers again, and the mirror has caught up.
HEALED = 300.0
CAUGHT_UP = 120.0


@dataclass(frozen=True)
class Verdict:
    """What was lost: acknowledged writes that are not there, in words; differences between file system and metastore; seconds."""

    lost: tuple[str, ...]
    drift: tuple[str, ...]
    healed: float
    caught_up: float


def judge(site: Site, ledger: Ledger, hive: HiveRows) -> Verdict:
    """Look at everything, with no client at work.

    Where a metastore fails once in the middle of CREATE TABLE, Spark keeps the table in a form of its own, which has no
    directory: nothing was deleted of such a one, and no write lost. One that was dropped is to be gone in any form.
    """
    healed = site.wait_healthy(HEALED)
    begin = time.monotonic()
    while True:
        with ledger.lock:
            deleted = set(ledger.deleted)
            gone = deleted | ledger.dropped
            wanted = set(ledger.tables)
        there = _patiently(hive.tables)
        there -= {name for name in deleted & there if _is_sparks_own(hive, name)}
        if not gone & there or time.monotonic() - begin > CAUGHT_UP:
            break
        time.sleep(1)
    caught_up = time.monotonic() - begin
    while (drift := _drift(site, ledger)) and time.monotonic() - begin <= CAUGHT_UP:
        # A DROP TABLE that was cut off is finished once the metastores have told when they began.
        time.sleep(1)
        caught_up = time.monotonic() - begin
    lost = [f"the table {name} was made and is not there" for name in sorted(wanted - there)]
    lost += [f"the table {name} is gone and is there" for name in sorted(gone & there)]
    rows = _patiently(hive.rows)
    lost += [f"the row {number} was inserted and is not there" for number in sorted(ledger.rows - set(rows))]
    lost += [
        f"the row {number} is there {rows.count(number)} times"
        for number in sorted(ledger.rows)
        if rows.count(number) > 1
    ]
    return Verdict(tuple(lost), tuple(drift), round(healed, 1), round(caught_up, 1))


def _is_sparks_own(hive: HiveRows, table: str) -> bool:
    return _patiently(partial(hive.location, table)).endswith(PLACEHOLDER)


def _patiently(ask: Callable[[], Answer]) -> Answer:
    """What has just healed may refuse one more call."""
    for attempt in range(5):
        try:
            return ask()
        except CommandError:
            if attempt == 4:
                raise
            time.sleep(5)
    raise AssertionError


def _drift(site: Site, ledger: Ledger) -> list[str]:
    """`hopshive check`, without what calls left that failed half-way."""
    differences = site.cleaners()[0].check()
    with ledger.lock:
        unknown = set(ledger.unknown)
    return [one.text for one in differences if not any(name in one.text for name in unknown)]
