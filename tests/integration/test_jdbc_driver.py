"""The drivers between Hive and Connector/J, with MariaDB as the database and as the SQL nodes of NDB Cluster.

What is refused. Which SQL node a connection is to, and for how long; what is asked again. tests/ndb_cluster/test_driver.py ends
a data node.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.support.jdbc_driver import OPTIONS, compile_driver, java

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.metastore_db import Metastore
    from tests.support.servers import MariaDB

# Prints a line for what comes of each question to a connection that ends before it.
PROBE = """
import java.sql.*;

class Probe {
    interface Work {
        Object done() throws SQLException;
    }

    static String[] login;
    static Connection one;

    static Connection connect() throws SQLException {
        return DriverManager.getConnection(login[0], login[1], login[2]);
    }

    static String ask(PreparedStatement statement) throws SQLException {
        try (ResultSet rows = statement.executeQuery()) {
            rows.next();
            return rows.getString(1);
        }
    }

    static String ask(String sql) throws SQLException {
        return ask(one.prepareStatement(sql));
    }

    static void end() throws SQLException {
        try (Connection other = connect(); Statement statement = other.createStatement()) {
            statement.execute("KILL CONNECTION " + ask("SELECT CONNECTION_ID()"));
        }
    }

    static void tell(String what, Work work) {
        String said;
        try {
            Object done = work.done();
            said = done == null ? "done" : done.toString();
        } catch (SQLException error) {
            said = error.getSQLState().startsWith("08") ? "lost" : "state " + error.getSQLState();
        }
        System.out.println(what + ": " + said);
    }

    static Object commit() throws SQLException {
        one.commit();
        return null;
    }

    public static void main(String[] arguments) throws Exception {
        login = arguments;
        DriverManager.registerDriver(new hopshive.NdbDriver());
        try {
            one = connect();
        } catch (SQLException error) {
            System.out.println("refused " + error.getSQLState() + " " + error.getSuppressed().length);
            return;
        }
        one.createStatement().execute("SET SESSION sql_mode = 'ANSI_QUOTES'");
        one.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
        one.setAutoCommit(false);
        PreparedStatement made = one.prepareStatement("SELECT ? + n AS \\"quoted\\" FROM (SELECT 1 AS n) s");
        made.setInt(1, 41);
        tell("port", () -> ask("SELECT @@port"));
        end();
        tell("a statement of before", () -> ask(made));
        tell("its settings", () -> ask("SELECT CONCAT(@@sql_mode, ' ', @@tx_isolation, ' ', @@autocommit)"));
        end();
        tell("the end of a transaction that read", Probe::commit);
        end();
        tell("going back after a query", () -> { ask("SELECT 1"); end(); one.rollback(); return null; });
        tell("a setting", () -> { one.setReadOnly(false); return null; });
        end();
        tell("a statement to be made", () -> ask("SELECT 1"));

        one.createStatement().execute("INSERT INTO driven.t VALUES (1)");
        end();
        tell("a query after a change", () -> ask("SELECT 1"));
        tell("the end of a change", Probe::commit);
        tell("autocommit after a change", () -> { one.setAutoCommit(true); return null; });
        tell("going back", () -> { one.rollback(); return null; });
        tell("rows", () -> ask("SELECT COUNT(*) FROM driven.t"));

        PreparedStatement batch = one.prepareStatement("INSERT INTO driven.t VALUES (?)");
        PreparedStatement insert = one.prepareStatement("INSERT INTO driven.t VALUES (?)");
        insert.setInt(1, 7);
        batch.setInt(1, 2);
        batch.addBatch();
        end();
        tell("another one", () -> ask("SELECT 1"));
        tell("a batch of before", () -> { batch.executeBatch(); return null; });
        one.rollback();
        tell("an insert of before", () -> insert.executeUpdate());
        tell("its end", Probe::commit);
        tell("rows", () -> ask("SELECT CONCAT(COUNT(*), ' ', SUM(n)) FROM driven.t"));
        one.close();
        tell("closed", () -> ask("SELECT 1"));
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
            return error.getErrorCode() == 0 ? error.getSQLState() : "error " + error.getErrorCode();
        }
    }

    static String commit() {
        try {
            one.commit();
            return "done";
        } catch (SQLException error) {
            return error.getSQLState();
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
        Savepoint mark = one.setSavepoint();
        System.out.print(ask("SELECT driven.fails()") + ", then " + ask("SELECT 1") + ", commit " + commit() + ", back ");
        try {
            one.rollback(mark);
        } catch (SQLException error) {
            System.out.print(error.getSQLState());
        }
        System.out.print(", rows " + ask("SELECT COUNT(*) FROM driven.t"));
        rest();
        next("back to a mark before all changes", 0, 0);
        ask("SELECT COUNT(*) FROM driven.t");
        Savepoint first = one.setSavepoint();
        Savepoint second = one.setSavepoint();
        one.createStatement().execute("INSERT INTO driven.t VALUES (1)");
        one.rollback(second);
        one.createStatement().execute("INSERT INTO driven.t VALUES (1)");
        one.rollback(first);
        System.out.print("rows " + ask("SELECT COUNT(*) FROM driven.t") + ", commit " + commit());
        rest();
        next("a wrong name after a change", 0, 0);
        one.createStatement().execute("INSERT INTO driven.t VALUES (1)");
        System.out.print(ask("SELECT * FROM driven.none") + ", rows " + ask("SELECT COUNT(*) FROM driven.t"));
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
# Stores what the column of each row can and cannot hold, with Hive's SQL mode.
REFUSED = """
import java.sql.*;

class Probe {
    static Connection one;

    static String told(SQLException error) {
        String said = error.getMessage();
        return error.getClass().getSimpleName() + " " + error.getErrorCode() + " " + error.getSQLState() + " "
            + said.substring(0, said.indexOf(" Nothing was stored"));
    }

    static void store(String mode, String value) throws SQLException {
        one.createStatement().execute(mode);
        one.createStatement().execute("INSERT INTO driven.t VALUES (1)");
        try (PreparedStatement statement = one.prepareStatement("INSERT INTO driven.latin VALUES (?)")) {
            statement.setString(1, value);
            statement.executeUpdate();
            System.out.println("stored");
        } catch (SQLException error) {
            System.out.println(told(error));
        }
        try {
            one.commit();
            System.out.println("committed");
        } catch (SQLException error) {
            System.out.println("commit: " + told(error));
        }
        one.rollback();
    }

    public static void main(String[] arguments) throws Exception {
        DriverManager.registerDriver(new hopshive.NdbDriver());
        one = DriverManager.getConnection(arguments[0], arguments[1], arguments[2]);
        one.setAutoCommit(false);
        store("SET @@session.sql_mode=ANSI_QUOTES", "\u00d6");
        store("SET @@session.sql_mode=ANSI_QUOTES", "\u65e5\u672c");
        store("SET SQL_MODE='NO_AUTO_VALUE_ON_ZERO,ANSI_QUOTES'", "longer");
        for (String table : new String[] {"latin", "t"}) {
            ResultSet rows = one.createStatement().executeQuery("SELECT COUNT(*) FROM driven." + table);
            rows.next();
            System.out.println(rows.getInt(1));
        }
    }
}
"""
# Tells what a transaction with a refused value stores, and how the sentence names the value.
NAMED = r"""
import java.sql.*;

class Probe {
    interface Work {
        Object done() throws SQLException;
    }

    static Connection one;

    static void tell(String what, Work work) {
        String said;
        try {
            said = String.valueOf(work.done());
        } catch (SQLException error) {
            said = error.getSQLState() + " " + error.getMessage().replaceFirst(" Nothing was stored.*", "");
        }
        System.out.println(what + ": " + said);
    }

    static Object rows() throws SQLException {
        ResultSet rows = one.createStatement().executeQuery("SELECT GROUP_CONCAT(n ORDER BY n) FROM driven.named");
        rows.next();
        return rows.getString(1);
    }

    static PreparedStatement make(String sql, String... values) throws SQLException {
        PreparedStatement statement = one.prepareStatement(sql);
        for (int number = 0; number < values.length; number++) {
            statement.setString(number + 1, values[number]);
        }
        return statement;
    }

    static Object commit() throws SQLException {
        one.commit();
        return "done";
    }

    public static void main(String[] arguments) throws Exception {
        one = DriverManager.getConnection(arguments[0], arguments[1], arguments[2]);
        one.createStatement().execute("SET @@session.sql_mode=ANSI_QUOTES");
        one.setAutoCommit(false);
        String insert = "INSERT INTO driven.named (n, `k`, \"v\") VALUES (?, ?, ?)";
        String update = "UPDATE driven.named SET \"k\" = ?, \"v\" = ? WHERE n = ?";
        tell("what fits", () -> make(insert, "1", "four", "four").executeUpdate());
        tell("committed", Probe::commit);
        tell("another column", () -> make(insert, "2", "four", "fifth").executeUpdate());
        one.rollback();
        tell("a long text", () -> make(insert, "2", "\u65e5".repeat(41), "v").executeUpdate());
        one.rollback();
        tell("a changed row", () -> make(update, "k", "fifth", "1").executeUpdate());
        one.rollback();
        tell("in the text", () -> one.createStatement().executeUpdate("INSERT INTO driven.named (k) VALUES ('fifth')"));
        one.rollback();
        tell("a batch", () -> {
            PreparedStatement statement = make(insert, "3", "k", "v");
            statement.addBatch();
            statement.setString(3, "sixth\n");
            statement.addBatch();
            statement.setString(3, "v");
            statement.addBatch();
            return statement.executeBatch();
        });
        one.rollback();

        tell("before a mark", () -> make(insert, "4", "k", "v").executeUpdate());
        Savepoint mark = one.setSavepoint();
        tell("after it", () -> make(insert, "5", "k", "fifth").executeUpdate());
        one.rollback(mark);
        tell("committed", Probe::commit);
        tell("another one", () -> make(insert, "6", "k", "v").executeUpdate());
        tell("too long", () -> make(insert, "7", "k", "fifth").executeUpdate());
        tell("the next one", () -> make(insert, "8", "k", "v").executeUpdate());
        tell("a mark", () -> one.setSavepoint());
        tell("committed", Probe::commit);
        tell("by autocommit", () -> { one.setAutoCommit(true); return "done"; });
        one.rollback();
        tell("rows", Probe::rows);
        one.setAutoCommit(true);
        tell("alone", () -> make(insert, "9", "k", "fifth").executeUpdate());
        one.setAutoCommit(false);
        tell("after it", () -> make(insert, "10", "k", "v").executeUpdate());
        tell("committed", Probe::commit);
        tell("rows", Probe::rows);
    }
}
"""
# Runs each statement as Hive does, and tells what becomes of it and of its transaction.
ALTERED = r"""
import java.sql.*;

class Probe {
    public static void main(String[] arguments) throws Exception {
        Connection one = DriverManager.getConnection(arguments[0], arguments[1], arguments[2]);
        one.createStatement().execute("SET @@session.sql_mode=ANSI_QUOTES");
        one.setAutoCommit(false);
        for (int number = 3; number < arguments.length; number++) {
            try {
                one.prepareStatement(arguments[number]).executeUpdate();
                System.out.println("done");
            } catch (SQLException error) {
                System.out.println(error.getClass().getSimpleName() + " " + error.getErrorCode() + " " + error.getMessage());
            }
            try {
                one.commit();
                System.out.println("committed");
            } catch (SQLException error) {
                System.out.println("not committed");
            }
            one.rollback();
        }
    }
}
"""
# A statement about a table of the metastore, the server's error, what is said of it, and what the server says.
OTHERS = {
    "out of range": (
        "INSERT INTO DBS (DB_ID, DB_LOCATION_URI, NAME, CREATE_TIME) VALUES (9, '/x', 'x', 99999999999)",
        1264,
        "a value is out of the range of CREATE_TIME of the metastore's database.",
        "Out of range value for column 'CREATE_TIME' at row 1",
    ),
    "a number with letters": (
        "INSERT INTO DBS (DB_ID, DB_LOCATION_URI, NAME, CREATE_TIME) VALUES (9, '/x', 'x', '12abc')",
        1265,
        "a value is not of the type of CREATE_TIME of the metastore's database.",
        "Data truncated for column 'CREATE_TIME' at row 1",
    ),
    "no time": (
        "INSERT INTO COMPLETED_TXN_COMPONENTS (CTC_TXNID, CTC_DATABASE, CTC_TIMESTAMP, CTC_UPDATE_DELETE)"
        " VALUES (1, 'x', 'yesterday', 'N')",
        1292,
        "a value is not of the type of CTC_TIMESTAMP of the metastore's database.",
        "Incorrect datetime value: 'yesterday' for column",
    ),
    "a text that is compared with a number": (
        "UPDATE DBS SET CREATE_TIME = 1 WHERE NAME = 5",
        1292,
        "a value is not of the type of a column of the metastore's database.",
        " value: 'kept'",
    ),
    "no number": (
        "INSERT INTO DBS (DB_ID, DB_LOCATION_URI, NAME, CREATE_TIME) VALUES (9, '/x', 'x', 'abc')",
        1366,
        "a value is not of the type of CREATE_TIME of the metastore's database.",
        "Incorrect integer value: 'abc' for column",
    ),
    "no default": (
        "INSERT INTO DBS (DB_ID, NAME) VALUES (9, 'x')",
        1364,
        "a row has no value for DB_LOCATION_URI of the metastore's database, which has no default.",
        "Field 'DB_LOCATION_URI' doesn't have a default value",
    ),
}


@pytest.fixture(scope="module")
def classpath(mysql_connector_home: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    return compile_driver(mysql_connector_home, tmp_path_factory.mktemp("driver"))


def prepare(mariadb: MariaDB) -> None:
    """A user, a table, and a function that fails while @left is above 0, with the error @code."""
    mariadb.execute(
        "CREATE OR REPLACE USER driver@'%' IDENTIFIED BY 'secret'",
        "GRANT ALL ON *.* TO driver@'%'",
        "CREATE OR REPLACE DATABASE driven",
        "CREATE TABLE driven.t (n INT)",
        "CREATE FUNCTION driven.fails() RETURNS INT NOT DETERMINISTIC BEGIN"
        " IF @left > 0 THEN SET @left = @left - 1; SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = @code; END IF; RETURN 7; END",
    )


def probe(
    classpath: str, tmp_path: Path, nodes: str, user: str, password: str, options: str = f"/mysql{OPTIONS}"
) -> list[str]:
    return run(classpath, tmp_path, PROBE, f"jdbc:mysql+ndb://{nodes}{options}", user, password)


def run(classpath: str, tmp_path: Path, program: str, *arguments: str) -> list[str]:
    """The lines that a Java program prints."""
    argv = java(classpath, tmp_path, program, *arguments)
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_what_only_reads_continues_at_the_next_node_and_what_changes_does_not(
    classpath: str, mariadb: MariaDB, tmp_path: Path
) -> None:
    """With the settings that it had: without them Hive's quoted names would be text."""
    prepare(mariadb)
    nodes = f"127.0.0.1:1,127.0.0.1:{mariadb.port},127.0.0.1:{mariadb.port}"
    assert probe(classpath, tmp_path, nodes, "driver", "secret") == [
        f"port: {mariadb.port}",
        "a statement of before: 42",
        "its settings: ANSI_QUOTES,STRICT_TRANS_TABLES SERIALIZABLE OFF",
        "the end of a transaction that read: done",
        "going back after a query: done",
        "a setting: done",
        "a statement to be made: 1",
        "a query after a change: lost",
        "the end of a change: lost",
        "autocommit after a change: state 40001",
        "going back: done",
        "rows: 0",
        "another one: 1",
        "a batch of before: state 40001",
        "an insert of before: 1",
        "its end: done",
        "rows: 1 7",
        "closed: lost",
    ]


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
    prepare(mariadb)
    url = f"jdbc:mysql+ndb://127.0.0.1:{mariadb.port}/driven{OPTIONS}"
    assert run(classpath, tmp_path, TEMPORARY, url, "driver", "secret") == [
        "alone: 7, left 0",
        "prepared: 17, left 0",
        "for good: error 1297, left 94",
        "another error: error 1205, left 2",
        "after a change: error 1297, then 40001, commit 08007, back 40001, rows 40001, left 40001",
        "back to a mark before all changes: rows 0, commit done, left 0",
        "a wrong name after a change: error 1146, rows 1, left 0",
        "after a lock: 0, error 1297, left 2",
        "each by itself: 7, left 0",
    ]


@pytest.mark.parametrize("kind", ["strict", "ndb"])
def test_what_a_column_cannot_hold_is_refused_with_a_sentence_and_not_altered(
    classpath: str, mariadb: MariaDB, tmp_path: Path, kind: str
) -> None:
    """In Hive's SQL mode alone it is cut, or becomes question marks. An error of another class Hive tries again for 20 s."""
    prepare(mariadb)
    mariadb.execute("CREATE TABLE driven.latin (t VARCHAR(4) CHARACTER SET latin1)")
    url = f"jdbc:mysql+{kind}://127.0.0.1:{mariadb.port}/driven{OPTIONS}"
    letters = "Refused: a text has letters that latin1 lacks, and the metastore's database keeps it in latin1."
    long = "Refused: a value is longer than t of the metastore's database can hold."
    refused = "SQLIntegrityConstraintViolationException"
    assert run(classpath, tmp_path, REFUSED, url, "driver", "secret") == [
        "stored",
        "committed",
        f"{refused} 1366 22001 {letters}",
        f"commit: {refused} 0 08007 {letters}",
        f"{refused} 1406 22001 {long}",
        f"commit: {refused} 0 08007 {long}",
        "1",
        "1",
    ]


def test_what_else_a_session_that_is_not_strict_alters_is_refused_with_a_sentence(
    classpath: str, metastore: Metastore, tmp_path: Path
) -> None:
    prepare(metastore.mariadb)
    metastore.execute("INSERT INTO DBS (DB_ID, DB_LOCATION_URI, NAME) VALUES (8, '/kept', 'kept')")
    url = f"jdbc:mysql+strict://127.0.0.1:{metastore.mariadb.port}/{metastore.server.database}{OPTIONS}"
    statements = [statement for statement, *_ in OTHERS.values()]
    lines = run(classpath, tmp_path, ALTERED, url, "driver", "secret", *statements, "UPDATE DBS SET CREATE_TIME = 1")
    assert lines[1:-2:2] == ["not committed"] * len(OTHERS)
    assert lines[-2:] == ["done", "committed"]
    for line, (_, number, said, told) in zip(lines[:-2:2], OTHERS.values(), strict=True):
        start = f"SQLIntegrityConstraintViolationException {number} Refused: {said} Nothing was stored (docs/limits.md). The"
        assert line.startswith(f"{start} server said: ")
        assert told in line
    assert metastore.execute("SELECT DB_ID, CREATE_TIME FROM DBS WHERE DB_ID > 7") == [(8, 1)]


def test_a_transaction_with_a_refused_value_is_not_committed_and_the_sentence_names_the_value(
    classpath: str, mariadb: MariaDB, tmp_path: Path
) -> None:
    """InnoDB rolls back the one statement. A client that continues would store the rest."""
    prepare(mariadb)
    mariadb.execute("CREATE TABLE driven.named (n INT, k VARCHAR(4), v VARCHAR(4)) CHARACTER SET utf8mb4")
    url = f"jdbc:mysql+strict://127.0.0.1:{mariadb.port}/driven{OPTIONS}&rewriteBatchedStatements=true"
    long = "Refused: {} is longer than {} of the metastore's database can hold."
    shown = long.format(f"'{'日' * 40}...' (41 letters)", "k")
    sixth = long.format("'sixth ' (6 letters)", "v")
    fifth = long.format("'fifth' (5 letters)", "v")
    assert run(classpath, tmp_path, NAMED, url, "driver", "secret") == [
        "what fits: 1",
        "committed: done",
        f"another column: 22001 {fifth}",
        f"a long text: 22001 {shown}",
        f"a changed row: 22001 {fifth}",
        f"in the text: 22001 {long.format('a value', 'k')}",
        f"a batch: 22001 {sixth}",
        "before a mark: 1",
        f"after it: 22001 {fifth}",
        "committed: done",
        "another one: 1",
        f"too long: 22001 {fifth}",
        "the next one: 1",
        f"a mark: 08007 {fifth}",
        f"committed: 08007 {fifth}",
        f"by autocommit: 08007 {fifth}",
        "rows: 1,4",
        f"alone: 22001 {fifth}",
        "after it: 1",
        "committed: done",
        "rows: 1,4,10",
    ]
