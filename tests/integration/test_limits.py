"""What a HiveServer2 with the settings of the roles plans, and with those of upstream does not (docs/limits.md).

molecule/default/tests/test_limits.py runs such a statement.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.bench.rig import UNMEASURED, Rig
from tests.bench.sites import start_mariadb
from tests.support.mirror_world import Files

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.warehouse.hiveserver2 import HiveSession


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HiveSession]:
    with ExitStack() as stack:
        rig = Rig(tmp_path_factory.mktemp("limits"), stack, UNMEASURED)
        site = start_mariadb(rig)
        assert rig.namenode
        Files(rig.hdfs).ready()
        port = stack.enter_context(site.metastore_server(0))
        session = stack.enter_context(site.session(stack.enter_context(site.server2(port))))
        session.execute("CREATE EXTERNAL TABLE t (a int, s string)")
        yield session


@pytest.mark.parametrize(
    "statement",
    [
        f"SELECT sum({' + '.join(f'a * {number}' for number in range(1500))}) FROM t",
        "SELECT a FROM t WHERE " + " OR ".join(f"(a = {number} AND s = 'x{number}')" for number in range(5000)),
    ],
    ids=["sum", "condition"],
)
def test_a_statement_that_a_program_wrote_is_planned(session: HiveSession, statement: str) -> None:
    assert session.execute(f"EXPLAIN {statement}")
