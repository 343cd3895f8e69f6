"""A program on the JVM that asks HiveServer2 through its JDBC driver, as a BI tool does."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.support.servers import hadoop_classpath, require_java_compiler, unpack

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_SOURCE = """
import java.io.InputStreamReader;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;

public final class Ask {
    public static void main(String[] arguments) throws Exception {
        Properties properties = new Properties();
        properties.load(new InputStreamReader(System.in, "UTF-8"));
        try (Connection connection = DriverManager.getConnection(arguments[0], properties);
             Statement statement = connection.createStatement();
             ResultSet rows = statement.executeQuery(arguments[1])) {
            while (rows.next()) {
                System.out.println("row: " + rows.getString(1));
            }
        } catch (SQLException error) {
            System.out.println("refused: " + error.getMessage());
        }
    }
}
"""
_JVM = ["-Xshare:auto", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]


class Refused(Exception):
    """The driver's message."""


@dataclass(frozen=True)
class JdbcClient:
    """The program, compiled, with the driver's jars."""

    classpath: str

    @classmethod
    def build(cls, directory: Path) -> JdbcClient:
        """Compile it. Skips the test without a compiler, or without Hive in the cache."""
        require_java_compiler()
        hive, hadoop = unpack("hive", directory), unpack("hadoop", directory)
        (directory / "Ask.java").write_text(_SOURCE)
        subprocess.run(["javac", "-d", str(directory), str(directory / "Ask.java")], check=True)
        return cls(":".join([str(directory), f"{hive}/lib/*", *hadoop_classpath(hadoop, logging=False)]))

    def store_passwords(self, path: Path, passwords: Mapping[str, str]) -> str:
        """Make a credential store, which the driver reads for `storePasswordPath`; its URI."""
        uri = f"localjceks://file{path}"
        shell = ["java", *_JVM, "-cp", self.classpath, "org.apache.hadoop.security.alias.CredentialShell", "create"]
        for alias, value in passwords.items():
            argv = [*shell, alias, "-value", value, "-provider", uri]
            subprocess.run(argv, capture_output=True, text=True, timeout=120, check=True)
        return uri

    def ask(
        self, url: str, sql: str, properties: Mapping[str, str], system: Mapping[str, object] | None = None
    ) -> list[str]:
        """The first column of a query. `properties` are of the connection, and `system` of the JVM. Raises Refused."""
        options = [f"-D{key}={value}" for key, value in (system or {}).items()]
        argv = ["java", *_JVM, *options, "-cp", self.classpath, "Ask", url, sql]
        # Nothing of it stands on the command line.
        given = "".join(f"{key}={value}\n" for key, value in properties.items())
        done = subprocess.run(argv, input=given, capture_output=True, text=True, timeout=120, check=False)
        if "refused: " in done.stdout:
            raise Refused(done.stdout.partition("refused: ")[2].strip())
        assert done.returncode == 0, done.stderr[-3000:]
        return [line.removeprefix("row: ") for line in done.stdout.splitlines() if line.startswith("row: ")]
