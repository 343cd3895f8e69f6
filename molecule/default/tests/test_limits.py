"""Limits that HiveServer2 and Tez meet together (docs/limits.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.warehouse.hiveserver2 import HiveSession

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.group("server2")
# More than stock Hive lets one task make (hive.exec.max.dynamic.partitions.pernode).
PARTITIONS = 120


@pytest.fixture(scope="module")
def session(host: Any) -> Iterator[HiveSession]:
    made = HiveSession(host.run("hostname -i").stdout.split()[0])
    made.execute("CREATE DATABASE IF NOT EXISTS limits")
    yield made
    made.execute("DROP DATABASE limits CASCADE")
    made.close()


def test_an_expression_of_many_terms_is_planned_and_run(session: HiveSession) -> None:
    """With a JVM's own stacks HiveServer2, the application master and the task end with a StackOverflowError, each in turn."""
    terms = " + ".join(f"a * {number}" for number in range(1500))
    session.execute("CREATE EXTERNAL TABLE limits.t (a BIGINT) STORED AS ORC")
    session.execute("INSERT INTO limits.t VALUES (1), (2)")
    assert session.execute(f"SELECT sum({terms}) FROM limits.t") == [(3 * sum(range(1500)),)]


def test_one_task_makes_many_partitions(session: HiveSession) -> None:
    session.execute("CREATE EXTERNAL TABLE limits.p (a INT) PARTITIONED BY (n INT) STORED AS ORC")
    rows = f"SELECT 1, n FROM (SELECT 1) x LATERAL VIEW posexplode(split(space({PARTITIONS - 1}), ' ')) y AS n, s"
    session.execute(f"INSERT INTO limits.p PARTITION (n) {rows}")
    assert len(session.execute("SHOW PARTITIONS limits.p")) == PARTITIONS


def test_a_query_may_have_more_counters_than_tez_allows(session: HiveSession) -> None:
    """Each vertex and each of its operators counts: 120 are not enough for a union of twenty groups."""
    branches = " UNION ALL ".join(
        f"SELECT {number} AS n, count(DISTINCT a) AS c FROM (SELECT stack(2, 1, 2) AS (a)) x GROUP BY a"
        for number in range(20)
    )
    assert session.execute(f"SELECT count(*), sum(c) FROM ({branches}) u") == [(40, 40)]
