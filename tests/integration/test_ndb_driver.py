"""The driver between Hive and Connector/J, with MariaDB as the SQL nodes: which one a connection is to, and for how long."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.warehouse.hosts import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.servers import MariaDB

DRIVER = ROOT / "roles" / "ndb" / "files" / "NdbDriver.java"
OPTIONS = "/mysql?sslMode=DISABLED&allowPublicKeyRetrieval=true&connectTimeout=2000"
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


@pytest.fixture(scope="module")
def classpath(mysql_connector_home: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """With the compiled driver."""
    if subprocess.run(["javac", "-version"], capture_output=True, check=False).returncode:
        pytest.skip("no Java compiler: apt-get install openjdk-17-jdk-headless")
    home = tmp_path_factory.mktemp("driver")
    subprocess.run(["javac", "-cp", f"{mysql_connector_home}/*", "-d", str(home), str(DRIVER)], check=True)
    return f"{home}:{mysql_connector_home}/*"


def probe(classpath: str, tmp_path: Path, nodes: str, user: str, password: str, options: str = OPTIONS) -> list[str]:
    source = tmp_path / "Probe.java"
    source.write_text(PROBE)
    argv = ["java", "-cp", classpath, str(source), f"jdbc:mysql+ndb://{nodes}{options}", user, password]
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
