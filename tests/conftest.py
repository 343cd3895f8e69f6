"""Fixtures that more than one file of tests uses: real servers, started once for a session."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hopshive.tenancy.tables import TABLES as TENANCY
from tests.support.authority import Authority
from tests.support.login_site import ALICE, LoginSite, make_tables, person
from tests.support.metastore_db import with_schema
from tests.support.mirror_world import MirrorWorld, empty_world
from tests.support.ndb import run_ndb, unpack_ndb
from tests.support.servers import Hdfs, MariaDB, run_hdfs, run_mariadb, unpack

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.metastore_db import Metastore


# A file system in memory, and the bytes that must be free there.
MEMORY = Path("/dev/shm")  # noqa: S108 - a directory with another name is made in it
ROOM = 2 << 30


@pytest.fixture(scope="session")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where servers keep data that nobody needs after the tests: in memory, where each change of a schema takes a fifth."""
    if not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < ROOM:
        yield tmp_path_factory.mktemp("data")
        return
    with tempfile.TemporaryDirectory(prefix="hopshive-tests-", dir=MEMORY) as directory:
        yield Path(directory)


@pytest.fixture(scope="session")
def mariadb(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Iterator[MariaDB]:
    """A MariaDB of its own; each test makes and drops its own database in it. With TEST_DATABASE=ndb, an SQL node of NDB."""
    if os.environ.get("TEST_DATABASE") == "ndb":
        home = unpack_ndb(tmp_path_factory.mktemp("product"))
        with run_ndb(tmp_path_factory.mktemp("ndb"), home) as cluster:
            yield cluster.sql[0]
        return
    with run_mariadb(data / "mariadb") as server:
        yield server


@pytest.fixture(scope="session")
def products(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where products are unpacked."""
    return tmp_path_factory.mktemp("products")


@pytest.fixture(scope="session")
def hadoop_home(products: Path) -> Path:
    """The Hadoop product."""
    return unpack("hadoop", products)


@pytest.fixture(scope="session")
def hive_home(products: Path) -> Path:
    """The Hive product."""
    return unpack("hive", products)


@pytest.fixture(scope="session")
def mysql_connector_home(products: Path) -> Path:
    """The database driver."""
    return unpack("mysql-connector", products)


@pytest.fixture(scope="session")
def zookeeper_home(products: Path) -> Path:
    """The ZooKeeper product."""
    return unpack("zookeeper", products)


@pytest.fixture(scope="module")
def metastore(mariadb: MariaDB, hive_home: Path) -> Iterator[Metastore]:
    """A stock metastore with the consistency schema: one database for all tests of a file."""
    with with_schema(mariadb, hive_home, "metastore") as made:
        yield made


@pytest.fixture(scope="session")
def hdfs(hadoop_home: Path, data: Path) -> Iterator[Hdfs]:
    """A NameNode and a DataNode."""
    with run_hdfs(data / "hdfs", hadoop_home) as running:
        yield running


@pytest.fixture
def world(metastore: Metastore, hdfs: Hdfs, request: pytest.FixtureRequest) -> Iterator[MirrorWorld]:
    """An empty warehouse, for the mirror; files that need another world make their own."""
    with empty_world(metastore, hdfs, "/" + request.node.name.replace("[", "-").rstrip("]")) as made:
        yield made


@pytest.fixture
def db(world: MirrorWorld) -> int:
    """A database of it, with both of its directories."""
    return world.make_database("d", managed=True)


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """What signs certificates of tests."""
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def login_tables(mariadb: MariaDB) -> MariaDB:
    """A database with the tables of tenancy."""
    make_tables(mariadb)
    return mariadb


@pytest.fixture
def login_site(login_tables: MariaDB, authority: Authority, tmp_path: Path) -> LoginSite:
    """A site of the login service with tables that are empty, and one person."""
    for table in TENANCY:
        login_tables.execute(f"DELETE FROM login_state.{table}")
    made = LoginSite(tmp_path, login_tables, authority)
    made.write_people({ALICE: person()})
    return made
