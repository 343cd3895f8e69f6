"""Limits that HiveServer2 and Tez meet together (docs/limits.md)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.warehouse.hiveserver2 import HiveSession

pytestmark = pytest.mark.group("server2")


def test_an_expression_of_many_terms_is_planned_and_run(host: Any) -> None:
    """With a JVM's own stacks HiveServer2, the application master and the task end with a StackOverflowError, each in turn."""
    session = HiveSession(host.run("hostname -i").stdout.split()[0])
    terms = " + ".join(f"a * {number}" for number in range(1500))
    try:
        session.execute("CREATE DATABASE IF NOT EXISTS limits")
        session.execute("CREATE EXTERNAL TABLE limits.t (a BIGINT) STORED AS ORC")
        session.execute("INSERT INTO limits.t VALUES (1), (2)")
        assert session.execute(f"SELECT sum({terms}) FROM limits.t") == [(3 * sum(range(1500)),)]
    finally:
        session.execute("DROP DATABASE limits CASCADE")
        session.close()
