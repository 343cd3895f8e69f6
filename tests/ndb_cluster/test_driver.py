"""Transactions that a data node coordinates when it ends: those that only read go on."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.ndb import Ndb, restarting, run_ndb, unpack_ndb
from tests.ndb_driver import OPTIONS, compile_driver, java

if TYPE_CHECKING:
    from collections.abc import Iterator
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
    with run_ndb(tmp_path_factory.mktemp("ndb"), home) as running:
        yield running


def test_who_only_reads_does_not_notice_the_end_of_a_data_node(
    cluster: Ndb, mysql_connector_home: Path, tmp_path: Path
) -> None:
    (node,) = cluster.sql
    node.execute(
        "CREATE USER driver@'%' IDENTIFIED BY 'secret'",
        "GRANT ALL ON *.* TO driver@'%'",
        "CREATE DATABASE driven",
        "CREATE TABLE driven.t (id INT PRIMARY KEY, n INT)",
        f"INSERT INTO driven.t VALUES {','.join(f'({number}, 0)' for number in range(40))}",
    )
    classpath = compile_driver(mysql_connector_home, tmp_path)
    url = f"jdbc:mysql+ndb://127.0.0.1:{node.port}/driven{OPTIONS}"
    argv = java(classpath, tmp_path, PROBE, url, "driver", "secret")
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as probe:
        assert probe.stdout is not None
        assert probe.stdout.readline() == "begun\n"
        with restarting(cluster, 12):
            said = probe.communicate("\n", timeout=60)[0].splitlines()
    told = {what: int(count) for count, _, what in (line.partition(" ") for line in said)}
    assert told["read again: done"] == 10
    assert told["ended a reader: done"] == 20
    # The node was asked for something, and a writer is told that what he wrote is gone.
    written = told.get("ended a writer: done", 0)
    assert told["ended a writer: error 1297"] == 20 - written > 0
    assert node.execute("SELECT COUNT(*) FROM driven.t WHERE n = 1") == [(written,)]
