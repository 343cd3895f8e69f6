"""A site with tables that are empty, and one person."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.authority import Authority
from tests.support.login_site import ALICE, LoginSite, make_tables, person

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.servers import MariaDB


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def tables(mariadb: MariaDB) -> Iterator[MariaDB]:
    make_tables(mariadb)
    yield mariadb


@pytest.fixture
def site(tables: MariaDB, authority: Authority, tmp_path: Path) -> LoginSite:
    for table in ("project_member", "login_limit", "login_code", "login_key", "login_revocation"):
        tables.execute(f"DELETE FROM login_state.{table}")
    made = LoginSite(tmp_path, tables, authority)
    made.write_people({ALICE: person()})
    return made
