"""The driver between Hive and Connector/J, with MariaDB as the SQL nodes.

Which one a connection is to, and for how long; what is asked again. tests/ndb_cluster/test_driver.py ends a data node.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.ndb_driver import OPTIONS, compile_driver, java

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers import MariaDB

# Prints a line for what comes of each question.
PROBE = """
import java.sql.*;

class Probe {
    public static void main(String[] arguments) throws Exception {
        String url = arguments[0];
        DriverManager.registerDriver(new hopshive.NdbDriver());
        try (Connection one = DriverManager.getConnection(url, arguments[1], arguments[2])) {
            one.createStatement().execute("SET SESSION sql_mode = 'ANSI_QUOTES'");
            ResultSet session = one.createStatement().executeQuery("SELECT @@port, CONNECTION_ID()");
            session.next();
            System.out.println("port " + session.getInt(1));
            try (Connection other = DriverManager.getConnection(url, arguments[1], arguments[2])) {
                other.createStatement().execute("KILL CONNECTION " + session.getLong(2));
            }
            for (int attempt = 0; attempt < 2; attempt++) {
                try {
                    one.createStatement().executeQuery("SELECT 1 AS \\"quoted\\"");
                    System.out.println("went on");
                } catch (SQLException error) {
                    System.out.println("state " + error.getSQLState().substring(0, 2));
                }
            }
            System.out.println("valid " + one.isValid(1));
        } catch (SQLException error) {
            System.out.println("refused " + error.getSQLState() + " " + error.getSuppressed().length);
        }
    }
}
"""
# Prints a line for what comes of each question, while the function `fails` ends as often as @left says with the error @code.
TEMPORARY = """
import java.sql.*;

class Probe {
    static Connection one;

    static String ask(String sql) {
        try (Statement statement = one.createStatement()) {
            ResultSet rows = statement.executeQuery(sql);
            rows.next();
            return rows.getString(1);
        } catch (SQLException error) {
            return "error " + error.getErrorCode();
        }
    }

    static void next(String what, int left, int code) throws SQLException {
        one.rollback();
        one.createStatement().execute("SET @left = " + left + ", @code = " + code);
        one.commit();
        System.out.print(what + ": ");
    }

    static void rest() {
        System.out.println(", left " + ask("SELECT @left"));
    }

    public static void main(String[] arguments) throws Exception {
        DriverManager.registerDriver(new hopshive.NdbDriver());
        one = DriverManager.getConnection(arguments[0], arguments[1], arguments[2]);
        one.setAutoCommit(false);
        next("alone", 3, 1297);
        System.out.print(ask("SELECT driven.fails()"));
        rest();
        next("prepared", 1, 1297);
        try (PreparedStatement statement = one.prepareStatement("SELECT driven.fails() + ?")) {
            statement.setInt(1, 10);
            ResultSet rows = statement.executeQuery();
            rows.next();
            System.out.print(rows.getString(1));
        }
        rest();
        next("for good", 100, 1297);
        System.out.print(ask("SELECT driven.fails()"));
        rest();
        next("another error", 3, 1205);
        System.out.print(ask("SELECT driven.fails()"));
        rest();
        next("after a change", 3, 1297);
        one.createStatement().execute("INSERT INTO driven.t VALUES (1)");
        System.out.print(ask("SELECT driven.fails()") + ", rows " + ask("SELECT COUNT(*) FROM driven.t"));
        rest();
        next("after a lock", 3, 1297);
        System.out.print(ask("SELECT COUNT(*) FROM driven.t FOR UPDATE") + ", " + ask("SELECT driven.fails()"));
        rest();
        next("each by itself", 0, 1297);
        one.setAutoCommit(true);
        one.createStatement().execute("SET @left = 2");
        System.out.print(ask("SELECT driven.fails()"));
        rest();
    }
}
"""


@pytest.fixture(scope="module")
def classpath(mysql_connector_home: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return compile_driver(mysql_connector_home, tmp_path_factory.mktemp("driver"))


def probe(
    classpath: str, tmp_path: Path, nodes: str, user: str, password: str, options: str = f"/mysql{OPTIONS}"
) -> list[str]:
    return run(classpath, tmp_path, PROBE, f"jdbc:mysql+ndb://{nodes}{options}", user, password)


def run(classpath: str, tmp_path: Path, program: str, *arguments: str) -> list[str]:
    """The lines that a Java program prints."""
    argv = java(classpath, tmp_path, program, *arguments)
    return subprocess.run(argv, capture_output=True, text=True, check=True).stdout.splitlines()


def test_a_connection_is_to_the_first_node_that_answers_and_ends_with_it(
    classpath: str, mariadb: MariaDB, tmp_path: Path
) -> None:
    """Had it gone on with another one, what was set for the session would be gone, and Hive's quoted names with it."""
    mariadb.execute("CREATE OR REPLACE USER driver@'%' IDENTIFIED BY 'secret'", "GRANT ALL ON *.* TO driver@'%'")
    nodes = f"127.0.0.1:1,127.0.0.1:{mariadb.port},127.0.0.1:{mariadb.port}"
    said = probe(classpath, tmp_path, nodes, "driver", "secret")
    assert said == [f"port {mariadb.port}", "state 08", "state 08", "valid false"]


def test_without_a_node_the_error_holds_that_of_each(classpath: str, tmp_path: Path) -> None:
    assert probe(classpath, tmp_path, "127.0.0.1:1,127.0.0.1:2", "driver", "secret") == ["refused 08S01 1"]


def test_a_url_need_not_name_a_database(classpath: str, tmp_path: Path) -> None:
    assert probe(classpath, tmp_path, "127.0.0.1:1,127.0.0.1:2", "driver", "secret", "") == ["refused 08S01 1"]


def test_a_wrong_password_is_not_tried_elsewhere(classpath: str, mariadb: MariaDB, tmp_path: Path) -> None:
    mariadb.execute("CREATE OR REPLACE USER driver@'%' IDENTIFIED BY 'secret'")
    nodes = f"127.0.0.1:{mariadb.port},127.0.0.1:{mariadb.port}"
    assert probe(classpath, tmp_path, nodes, "driver", "wrong") == ["refused 28000 0"]


def test_what_a_data_nodes_end_interrupts_is_asked_again_while_nothing_is_lost_by_it(
    classpath: str, mariadb: MariaDB, tmp_path: Path
) -> None:
    """Hive takes a database that it could not read for one that is not there (ObjectStore.getDatabase)."""
    mariadb.execute(
        "CREATE OR REPLACE USER driver@'%' IDENTIFIED BY 'secret'",
        "GRANT ALL ON *.* TO driver@'%'",
        "CREATE OR REPLACE DATABASE driven",
        "CREATE TABLE driven.t (n INT)",
        "CREATE FUNCTION driven.fails() RETURNS INT NOT DETERMINISTIC BEGIN"
        " IF @left > 0 THEN SET @left = @left - 1; SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = @code; END IF; RETURN 7; END",
    )
    url = f"jdbc:mysql+ndb://127.0.0.1:{mariadb.port}/driven{OPTIONS}"
    assert run(classpath, tmp_path, TEMPORARY, url, "driver", "secret") == [
        "alone: 7, left 0",
        "prepared: 17, left 0",
        "for good: error 1297, left 94",
        "another error: error 1205, left 2",
        "after a change: error 1297, rows 1, left 2",
        "after a lock: 0, error 1297, left 2",
        "each by itself: 7, left 0",
    ]
