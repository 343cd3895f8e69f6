"""Transactions whose data node or SQL node ends: those that only read continue."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.support.jdbc_driver import OPTIONS, compile_driver, java
from tests.support.ndb import Ndb, killed, restarting, run_ndb, unpack_ndb

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

# Continues after a statement that failed: with Connector/J alone, then with the driver before it.
FAILED = """
import java.sql.*;

class Probe {
    interface Work {
        void doIt() throws SQLException;
    }

    static String done(Work work) {
        try {
            work.doIt();
            return "done";
        } catch (SQLException error) {
            return error.getSQLState();
        }
    }

    public static void main(String[] arguments) throws Exception {
        Connection holder = DriverManager.getConnection("jdbc:mysql:" + arguments[0], arguments[1], arguments[2]);
        holder.setAutoCommit(false);
        holder.createStatement().execute("SELECT n FROM driven.t WHERE id = 0 FOR UPDATE");
        DriverManager.registerDriver(new hopshive.NdbDriver());
        int id = 100;
        for (String kind : new String[] {"jdbc:mysql:", "jdbc:mysql+ndb:"}) {
            for (String failing : new String[] {
                "SELECT n FROM driven.t WHERE id = 0 FOR UPDATE", "INSERT INTO driven.t VALUES (1, 0)"}) {
                Connection one = DriverManager.getConnection(kind + arguments[0], arguments[1], arguments[2]);
                one.setAutoCommit(false);
                int number = id++;
                one.createStatement().execute("INSERT INTO driven.t VALUES (" + number + ", 0)");
                String failed = done(() -> one.createStatement().execute(failing));
                String next = done(() -> one.createStatement().execute("SELECT 1"));
                String end = done(one::commit);
                one.rollback();
                ResultSet rows = one.createStatement().executeQuery("SELECT COUNT(*) FROM driven.t WHERE id = " + number);
                rows.next();
                System.out.println(kind + " " + failed + " " + next + " " + end + " " + rows.getInt(1));
            }
        }
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


def test_a_client_that_continues_a_transaction_that_the_server_ended_is_told(
    cluster: Ndb, classpath: str, tmp_path: Path
) -> None:
    """By itself NDB says that it committed what it has rolled back, after a lock that was not had and after a double key."""
    url = f"//127.0.0.1:{cluster.sql[1].port}/driven{OPTIONS}"
    argv = java(classpath, tmp_path, FAILED, url, "driver", "secret")
    said = subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()
    assert said == [
        "jdbc:mysql: 40001 done done 0",
        "jdbc:mysql: 23000 done done 0",
        "jdbc:mysql+ndb: 40001 40001 08007 0",
        "jdbc:mysql+ndb: 23000 40001 08007 0",
    ]
