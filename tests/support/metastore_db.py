"""Databases of a metastore for tests, filled by the stock script: no JVM, under a second each."""

from __future__ import annotations

import re
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pymysql

from hopshive.consistency import schema
from hopshive.database import Database, Fence, Names, Server, render

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.servers import MariaDB

SCRIPT = "scripts/metastore/upgrade/mysql/hive-schema-4.0.0.mysql.sql"


def stock_metastore(mariadb: MariaDB, hive_home: Path, name: str) -> Server:
    """Make the database again and load Hive's own script into it; the caller drops it (`drop`)."""
    drop(mariadb, name)
    mariadb.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
    client = ["mariadb", "--no-defaults", "-S", mariadb.socket, "-u", "root", name]
    script = hive_home / SCRIPT
    with script.open("rb") as stream:
        subprocess.run(client, stdin=stream, check=True, cwd=script.parent)
    return Server(name, unix_socket=mariadb.socket, user="root")


def own_names(name: str) -> Names:
    """State and inode schemas that belong to the database of one test."""
    return Names(f"{name}_state", f"{name}_hops.hdfs_inodes")


def drop(mariadb: MariaDB, name: str) -> None:
    """Drop the database and what `own_names` calls."""
    mariadb.execute(*(f"DROP DATABASE IF EXISTS {schema}" for schema in (name, f"{name}_state", f"{name}_hops")))


@dataclass(frozen=True)
class Metastore:
    """A metastore's database, the names of our schemas beside it, and the server that it lies on."""

    mariadb: MariaDB
    server: Server
    names: Names

    def database(self, fence: Fence | None = None) -> Database:
        """A new connection, as hopshive's own code has it; close it."""
        return Database(self.server, self.names, fence)

    def execute(self, *statements: str) -> list[tuple[Any, ...]]:
        """Run statements as root in the metastore's database, each with autocommit; the rows of the last."""
        rows: list[tuple[Any, ...]] = []
        with self.cursor() as cursor:
            for statement in statements:
                cursor.execute(render(statement, self.names))
                rows = list(cursor.fetchall())
        return rows

    def picture(self) -> dict[str, str]:
        """All that DDL can change in the database: tables with columns, indexes and keys; triggers; routines."""
        found: dict[str, str] = {}
        with self.cursor() as cursor:
            cursor.execute("SHOW TABLES")
            for (table,) in list(cursor.fetchall()):
                cursor.execute(f"SHOW CREATE TABLE {table}")
                lines = str(cursor.fetchall()[0][1]).splitlines()
                # The order of indexes is nowhere to be seen but here.
                found[table] = "\n".join(sorted(line.rstrip(",") for line in lines))
            cursor.execute(
                "SELECT TRIGGER_NAME, CONCAT_WS(' ', EVENT_OBJECT_TABLE, ACTION_TIMING, EVENT_MANIPULATION, ACTION_STATEMENT)"
                " FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE() UNION"
                " SELECT ROUTINE_NAME, ROUTINE_DEFINITION FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE()"
            )
            return found | dict(cursor.fetchall())

    def state_picture(self) -> dict[str, str]:
        """Each table of the state schema as DDL, comments included; the next AUTO_INCREMENT left out."""
        found: dict[str, str] = {}
        with self.cursor() as cursor:
            cursor.execute(f"SHOW TABLES IN {self.names.state}")
            for (table,) in list(cursor.fetchall()):
                cursor.execute(f"SHOW CREATE TABLE {self.names.state}.{table}")
                found[table] = re.sub(r" AUTO_INCREMENT=\d+", "", str(cursor.fetchall()[0][1]))
        return found

    @contextmanager
    def cursor(self) -> Iterator[pymysql.cursors.Cursor]:
        """One connection as root, with autocommit and without TLS, which would take most of the time."""
        with (
            pymysql.connect(
                unix_socket=self.mariadb.socket,
                user="root",
                database=self.server.database,
                autocommit=True,
                ssl_disabled=True,
            ) as connection,
            connection.cursor() as cursor,
        ):
            yield cursor


@contextmanager
def with_stock(mariadb: MariaDB, hive_home: Path, name: str) -> Iterator[Metastore]:
    """A stock metastore until the end of the block."""
    try:
        yield Metastore(mariadb, stock_metastore(mariadb, hive_home, name), own_names(name))
    finally:
        drop(mariadb, name)


@contextmanager
def with_schema(mariadb: MariaDB, hive_home: Path, name: str) -> Iterator[Metastore]:
    """The same with the consistency schema for the source `hdfs`."""
    with with_stock(mariadb, hive_home, name) as metastore:
        schema.apply(metastore.server, metastore.names)
        yield metastore
