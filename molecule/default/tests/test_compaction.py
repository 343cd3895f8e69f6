"""A compaction and a DROP of what it compacts: one waits for the other, and never both for each other."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.warehouse import HiveSession

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.group("server2")
# Seconds from the beginning of the compaction to the DROP: before the compaction's first statement, and between its statements.
DELAYS = (0.5, 1.5)
LONGEST = 60.0


@pytest.fixture
def session(host: Any) -> Iterator[HiveSession]:
    opened = HiveSession(str(host.run("hostname -i").stdout.split()[0]), timeout=LONGEST)
    yield opened
    opened.close()


def state(session: HiveSession, database: str) -> str | None:
    """Of the last compaction of this database's tables in SHOW COMPACTIONS."""
    states = [row[5] for row in session.execute("SHOW COMPACTIONS") if row[1] == database]
    return states[-1] if states else None


def works(session: HiveSession, database: str, delay: float) -> bool:
    """Whether a compaction of a new table still works so long after its begin."""
    session.execute(f"DROP DATABASE IF EXISTS {database} CASCADE")
    session.execute(f"CREATE DATABASE {database}")
    session.execute(f"CREATE TABLE {database}.t (n INT) STORED AS ORC TBLPROPERTIES ('transactional' = 'true')")
    for number in range(2):
        session.execute(f"INSERT INTO {database}.t VALUES ({number})")
    session.execute(f"ALTER TABLE {database}.t COMPACT 'major'")
    deadline = time.monotonic() + LONGEST
    while state(session, database) == "initiated":
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(delay)
    return state(session, database) == "working"


# With locks for its statements a compaction waited behind the DROP, and the DROP for the compaction, each until it gave up.
@pytest.mark.parametrize("delay", DELAYS)
def test_a_database_is_dropped_while_its_table_is_compacted(session: HiveSession, delay: float) -> None:
    # A compaction may take less than a second.
    names = ("compacted_a", "compacted_b", "compacted_c")
    database = next((name for name in names if works(session, name, delay)), None)
    assert database, "each compaction ended before the DROP"
    # Raises HiveError after LONGEST.
    session.execute(f"DROP DATABASE {database} CASCADE")
    for left in session.execute("SHOW DATABASES LIKE 'compacted_*'"):
        session.execute(f"DROP DATABASE {left[0]} CASCADE")
