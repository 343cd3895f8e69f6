"""Transactions whose data node or SQL node ends: those that only read go on."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.ndb import Ndb, killed, restarting, run_ndb, unpack_ndb
from tests.ndb_driver import OPTIONS, compile_driver, java

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

# Begins a transaction on each of many connections, waits for a line, and tells what went wrong: with those that read first once
# they are ended, with those that read a second time, and with those that have written.
PROBE = """
import java.sql.*;
import java.util.*;

class Probe {
    static final String READ = "SELECT n FROM driven.t WHERE id = ";

    static String code(SQLException error) {
        return "error " + error.getErrorCode();
    }

    static String done(Connection of, String sql) {
        try (Statement statement = of.createStatement()) {
            statement.execute(sql);
            return "done";
        } catch (SQLException error) {
            return code(error);
        }
    }

    static String ended(Connection of) {
        try {
            of.commit();
            return "done";
        } catch (SQLException error) {
            return code(error);
        }
    }

    public static void main(String[] arguments) throws Exception {
        DriverManager.registerDriver(new hopshive.NdbDriver());
        List<Connection> readers = new ArrayList<>();
        List<Connection> writers = new ArrayList<>();
        for (int number = 0; number < 40; number++) {
            Connection one = DriverManager.getConnection(arguments[0], arguments[1], arguments[2]);
            one.setAutoCommit(false);
            boolean reads = number % 2 == 0;
            String first = done(one, reads ? READ + number : "UPDATE driven.t SET n = 1 WHERE id = " + number);
            if (!first.equals("done")) {
                throw new IllegalStateException(first);
            }
            (reads ? readers : writers).add(one);
        }
        System.out.println("begun");
        System.in.read();
        Map<String, Integer> told = new TreeMap<>();
        for (int number = 0; number < readers.size(); number++) {
            Connection one = readers.get(number);
            if (number % 2 == 0) {
                told.merge("read again: " + done(one, READ + number), 1, Integer::sum);
            }
            told.merge("ended a reader: " + ended(one), 1, Integer::sum);
        }
        for (Connection one : writers) {
            told.merge("ended a writer: " + ended(one), 1, Integer::sum);
        }
        told.forEach((what, count) -> System.out.println(count + " " + what));
    }
}
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ndb]:
    home = unpack_ndb(tmp_path_factory.mktemp("product"))
    with run_ndb(tmp_path_factory.mktemp("ndb"), home, sql_nodes=2) as running:
        running.sql[0].execute(
            "CREATE USER driver@'%' IDENTIFIED BY 'secret'",
            "GRANT ALL ON *.* TO driver@'%'",
            "GRANT NDB_STORED_USER ON *.* TO driver@'%'",
            "CREATE DATABASE driven",
            "CREATE TABLE driven.t (id INT PRIMARY KEY, n INT)",
            f"INSERT INTO driven.t VALUES {','.join(f'({number}, 0)' for number in range(40))}",
        )
        yield running


@pytest.fixture(scope="module")
def classpath(mysql_connector_home: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return compile_driver(mysql_connector_home, tmp_path_factory.mktemp("driver"))


def told(cluster: Ndb, classpath: str, directory: Path, ending: AbstractContextManager[object]) -> dict[str, int]:
    """What the program prints, with its transactions begun before a node ends, and how often."""
    nodes = ",".join(f"127.0.0.1:{node.port}" for node in cluster.sql)
    argv = java(classpath, directory, PROBE, f"jdbc:mysql+ndb://{nodes}/driven{OPTIONS}", "driver", "secret")
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as probe:
        assert probe.stdout is not None
        assert probe.stdout.readline() == "begun\n"
        with ending:
            said = probe.communicate("\n", timeout=60)[0].splitlines()
    return {what: int(count) for count, _, what in (line.partition(" ") for line in said)}


def test_who_only_reads_does_not_notice_the_end_of_a_data_node(cluster: Ndb, classpath: str, tmp_path: Path) -> None:
    said = told(cluster, classpath, tmp_path, restarting(cluster, 12))
    assert said["read again: done"] == 10
    assert said["ended a reader: done"] == 20
    # The node was asked for something, and a writer is told that what he wrote is gone.
    written = said.get("ended a writer: done", 0)
    assert said["ended a writer: error 1297"] == 20 - written > 0
    assert cluster.sql[0].execute("SELECT COUNT(*) FROM driven.t WHERE n = 1") == [(written,)]


def test_who_only_reads_does_not_notice_the_end_of_an_sql_node(cluster: Ndb, classpath: str, tmp_path: Path) -> None:
    cluster.sql[0].execute("UPDATE driven.t SET n = 0")
    said = told(cluster, classpath, tmp_path, killed(cluster, 0))
    # Connector/J gives a lost connection no number.
    assert said == {"read again: done": 10, "ended a reader: done": 20, "ended a writer: error 0": 20}
    assert cluster.sql[1].execute("SELECT COUNT(*) FROM driven.t WHERE n = 1") == [(0,)]
