"""The schema of the metastore's database: made by schematool if the database is empty, upgraded if it is older.

The version is read from the database and not from `schematool -info`, a JVM; what to do follows from that and from the
scripts that come with the installed Hive (`decide`). schematool alone changes the schema.
"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pymysql

from hopshive.database import Server, connect

if TYPE_CHECKING:
    from collections.abc import Iterator

# Hive 4.0.1, org.apache.hadoop.hive.metastore.txn.TxnStore.MUTEX_KEY: each names a row of AUX_TABLE that a task locks.
MUTEX_KEYS = ("Initiator", "Cleaner", "HouseKeeper", "TxnCleaner", "CompactionScheduler", "MaterializationRebuild")

ORDER_FILE = "upgrade.order.mysql"
# mariadb-dump and mysqldump end a dump that is whole with this line.
_DUMP_END = b"-- Dump completed"
# Lines of schematool's output in a message.
_OUTPUT_LINES = 15

Action = Literal["none", "init", "upgrade"]


class SchemaError(Exception):
    """The schema cannot be brought to the wanted version; the message is a sentence for the operator."""


@dataclass(frozen=True)
class SchemaState:
    """The tables, version and mutex rows of the database. `version` is empty without a row in VERSION."""

    tables: frozenset[str] = frozenset()
    version: str = ""
    mutex_keys: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Plan:
    """What to do. `mutex_rows` are the keys that AUX_TABLE lacks, or will lack after the action."""

    action: Action
    before: str
    target: str
    mutex_rows: tuple[str, ...]


# --- deciding ---------------------------------------------------------------------------------------------------------


def parse_order(text: str) -> tuple[str, ...]:
    """The versions of upgrade.order.mysql, from the oldest that can be upgraded to the newest.

    Its lines are steps, `3.2.0-to-4.0.0-alpha-1`, and each begins where the one before ended.
    """
    versions: list[str] = []
    for line in text.split():
        older, _, newer = line.partition("-to-")
        if not newer or (versions and versions[-1] != older):
            raise SchemaError(f"{ORDER_FILE} has a line that does not follow from the one before: {line}.")
        versions += [newer] if versions else [older, newer]
    if not versions:
        raise SchemaError(f"{ORDER_FILE} is empty.")
    return tuple(versions)


def known_versions(scripts_dir: str) -> tuple[str, ...]:
    """The versions that the installed Hive knows; the last is its own."""
    path = Path(scripts_dir) / ORDER_FILE
    try:
        return parse_order(path.read_text())
    except OSError as error:
        raise SchemaError(
            f"{path} cannot be read ({error.strerror}). Give scripts_dir as the directory scripts/metastore/upgrade/mysql of "
            "the installed Hive."
        ) from None


def decide(found: SchemaState, versions: Sequence[str], place: str) -> Plan:
    """What brings the database to the last of `versions`. Raises SchemaError where only a human may decide."""
    target = versions[-1]
    missing = tuple(key for key in MUTEX_KEYS if key not in found.mutex_keys)
    if not found.tables:
        return Plan("init", "", target, MUTEX_KEYS)
    if not found.version:
        some = ", ".join(sorted(found.tables)[:3])
        raise SchemaError(
            f"In {place} there are {len(found.tables)} tables ({some} ...) but no row in VERSION: it is not a metastore's, "
            "or a schematool -initSchema did not finish. Nothing was changed. If nothing in it is needed, drop the "
            "database and make it again; else restore it from a dump."
        )
    if found.version == target:
        return Plan("none", target, target, missing)
    if found.version not in versions:
        raise SchemaError(
            f"The schema in {place} is {found.version}, the installed Hive has {target} and no way from there: it is "
            "newer, or not from a release. Nothing was changed. Install a Hive that has that schema, or restore a dump."
        )
    return Plan("upgrade", found.version, target, missing)


# --- the database -----------------------------------------------------------------------------------------------------


@contextmanager
def _cursor(server: Server) -> Iterator[pymysql.cursors.Cursor]:
    """One transaction."""
    try:
        with connect(server) as connection:
            with connection.cursor() as cursor:
                yield cursor
            connection.commit()
    except pymysql.MySQLError as error:
        text = error.args[1] if len(error.args) > 1 else str(error)
        raise SchemaError(f"{server.place[0].upper()}{server.place[1:]} could not be used: {text}.") from None


def look(server: Server) -> SchemaState:
    """Read tables, version and mutex rows."""
    with _cursor(server) as cursor:
        cursor.execute(
            "SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = DATABASE() AND TABLE_TYPE = 'BASE TABLE'"
        )
        tables = frozenset(str(row[0]) for row in cursor.fetchall())
        versions: list[str] = []
        keys: frozenset[str] = frozenset()
        if "VERSION" in tables:
            cursor.execute("SELECT SCHEMA_VERSION FROM VERSION")
            versions = [str(row[0]) for row in cursor.fetchall()]
        if "AUX_TABLE" in tables:
            cursor.execute("SELECT MT_KEY1 FROM AUX_TABLE")
            keys = frozenset(str(row[0]) for row in cursor.fetchall())
    if len(versions) > 1:
        raise SchemaError(
            f"VERSION in {server.place} has {len(versions)} rows ({', '.join(versions)}): leave the right one."
        )
    return SchemaState(tables, versions[0] if versions else "", keys)


def add_mutex_rows(server: Server, keys: Sequence[str]) -> None:
    """Add the rows that housekeeping tasks lock. On an empty AUX_TABLE of MariaDB they deadlock while they insert them."""
    with _cursor(server) as cursor:
        for key in keys:
            cursor.execute(
                "INSERT INTO AUX_TABLE (MT_KEY1, MT_KEY2)"
                " SELECT %s, 0 FROM DUAL WHERE NOT EXISTS (SELECT 1 FROM AUX_TABLE WHERE MT_KEY1 = %s)",
                (key, key),
            )


# --- schematool -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SchemaTool:
    """The command line tool, with the configuration that names the database and its password."""

    command: str
    config_dir: str
    timeout: float = 3600.0

    def run(self, option: str) -> str:
        """Run it with `-dbType mysql` and an option; returns its output. Raises SchemaError with the end of it."""
        try:
            done = subprocess.run(
                [self.command, "-dbType", "mysql", option],
                env={**os.environ, "HIVE_CONF_DIR": self.config_dir, "LC_ALL": "C.UTF-8"},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=self.timeout,
                check=False,
            )
        except FileNotFoundError:
            raise SchemaError(f"{self.command} is not there: install Hive first, or give schematool.") from None
        except subprocess.TimeoutExpired:
            raise SchemaError(f"schematool {option} did not end within {self.timeout:.0f} s.") from None
        except OSError as error:
            raise SchemaError(f"{self.command} cannot be run: {error.strerror}.") from None
        output = done.stdout.decode(errors="replace")
        if done.returncode:
            raise SchemaError(f"schematool {option} failed ({done.returncode}): {told(output)}")
        return output


def told(output: str) -> str:
    """The end of a tool's output, on one line, without banners and empty lines."""
    lines = [line.strip() for line in output.splitlines()]
    return " | ".join([line for line in lines if line and not line.startswith(("SLF4J:", "WARNING:"))][-_OUTPUT_LINES:])


# --- dumps ------------------------------------------------------------------------------------------------------------


def dump(server: Server, dump_dir: str, version: str, command: str = "mariadb-dump") -> Path:
    """Dump the database to `<dump_dir>/<database>-<version>-<UTC time>.sql.gz`, 0600, and read it back to its end.

    It drops the database, makes it again and fills it, so that loading it leaves nothing of a half-done upgrade. The
    password goes in a file of mode 0600 that lives as long as the dump runs. Raises SchemaError.
    """
    directory = Path(dump_dir)
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SchemaError(f"{directory}, the directory for dumps, cannot be made: {error.strerror}.") from None
    final = directory / f"{server.database}-{version}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}.sql.gz"
    partial = final.with_suffix(".partial")
    with tempfile.TemporaryDirectory(prefix="hopshive-") as private:
        options = Path(private) / "client.cnf"
        options.touch(mode=0o600)
        options.write_text(_client_options(server))
        argv = [
            command,
            f"--defaults-extra-file={options}",
            "--single-transaction",
            "--quick",
            "--routines",
            "--triggers",
            "--no-tablespaces",
            "--add-drop-database",
            "--databases",
            server.database,
        ]
        try:
            _run_to_gzip(argv, partial)
            verify(partial)
        except SchemaError:
            partial.unlink(missing_ok=True)
            raise
    partial.rename(final)
    return final


def _client_options(server: Server) -> str:
    """An option file of the MariaDB client; backslash and quote are the two characters that need care in it."""
    lines = ["[client]"]
    lines += [f"socket={server.unix_socket}"] if server.unix_socket else [f"host={server.host}", f"port={server.port}"]
    if server.user:
        lines.append(f"user={server.user}")
    password = server.password.replace("\\", "\\\\").replace('"', '\\"')
    lines.append(f'password="{password}"')
    if server.ca_cert and not server.unix_socket:
        files = {"ssl-ca": server.ca_cert, "ssl-cert": server.client_cert, "ssl-key": server.client_key}
        lines += [f"{option}={path}" for option, path in files.items() if path]
        lines.append("skip-ssl-verify-server-cert" if server.check_hostname is False else "ssl-verify-server-cert")
    return "\n".join(lines) + "\n"


def _run_to_gzip(argv: list[str], path: Path) -> None:
    with tempfile.TemporaryFile() as errors:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=errors, stdin=subprocess.DEVNULL)
            with process, os.fdopen(descriptor, "wb") as raw:
                assert process.stdout is not None  # noqa: S101 - asked for above
                with gzip.GzipFile(fileobj=raw, mode="wb", compresslevel=3) as out:
                    shutil.copyfileobj(process.stdout, out, 1024 * 1024)
                raw.flush()
                os.fsync(raw.fileno())
        except OSError as error:
            raise SchemaError(
                f"The dump before the upgrade failed: {error.filename or path}: {error.strerror}."
            ) from None
        errors.seek(0)
        if process.returncode:
            raise SchemaError(f"The dump before the upgrade failed: {told(errors.read().decode(errors='replace'))}")


def verify(path: Path) -> None:
    """Read a dump to its end; raises SchemaError unless it is a whole gzip file that ends as a whole dump does."""
    tail = b""
    try:
        with gzip.open(path) as stream:
            while block := stream.read(1024 * 1024):
                tail = (tail + block)[-4096:]
    except (OSError, EOFError) as error:
        raise SchemaError(f"The dump {path} cannot be read back: {error}.") from None
    lines = tail.strip().splitlines()
    if not lines or not lines[-1].startswith(_DUMP_END):
        raise SchemaError(f"The dump {path} is not whole: its last line is not '{_DUMP_END.decode()}'.")


# --- all of it --------------------------------------------------------------------------------------------------------


def marker(dump_dir: str, database: str) -> Path:
    """The file that an upgrade leaves until it has succeeded: the dump's path, so that no second try hides the first."""
    return Path(dump_dir) / f"{database}.upgrade-unfinished"


def how_to_load(server: Server, path: str, unfinished: Path) -> str:
    """What to do after a failed upgrade."""
    where = f"--socket={server.unix_socket}" if server.unix_socket else f"--host={server.host} --port={server.port}"
    user = f" --user={server.user} --password" if server.user else ""
    return (
        f"Metastores and cleaners stay stopped. To go back, load the dump on this host: zcat {path} | mariadb {where}{user}; "
        f"then rm {unfinished}, and run site.yml with the release of Hive that was there, or again with this one when what it "
        "failed for is mended"
    )


def check_unfinished(server: Server, dump_dir: str) -> None:
    """Raises SchemaError if an upgrade has begun and not ended: another would start from a schema of no version."""
    unfinished = marker(dump_dir, server.database)
    if unfinished.exists():
        path = unfinished.read_text().strip()
        raise SchemaError(
            f"An upgrade of {server.database} has not come to its end, and another on top would do harm. "
            f"{how_to_load(server, path, unfinished)}."
        )


def plan(server: Server, scripts_dir: str, dump_dir: str, dump_command: str) -> Plan:
    """Look and decide; changes nothing. Raises SchemaError, also if a dump that is needed cannot be made."""
    versions = known_versions(scripts_dir)
    check_unfinished(server, dump_dir)
    todo = decide(look(server), versions, server.place)
    if todo.action == "upgrade" and not shutil.which(dump_command):
        raise SchemaError(
            f"{server.place[0].upper()}{server.place[1:]} has to be dumped before its upgrade from {todo.before} to "
            f"{todo.target}, and {dump_command} is not on this host: apt-get install mariadb-client."
        )
    return todo


def carry_out(todo: Plan, server: Server, tool: SchemaTool, dump_dir: str, dump_command: str) -> str:
    """Do what was planned, and confirm it; returns the path of the dump, empty without one. Raises SchemaError."""
    path = ""
    if todo.action == "init":
        try:
            tool.run("-initSchema")
        except SchemaError as error:
            if not look(server).tables:
                raise
            raise SchemaError(
                f"{error} It left a part of the schema: drop the database {server.database} and make it again, then run "
                "this again."
            ) from None
        _confirm(server, todo.target)
        tool.run("-validate")
    elif todo.action == "upgrade":
        path = str(dump(server, dump_dir, todo.before, dump_command))
        unfinished = marker(dump_dir, server.database)
        unfinished.write_text(f"{path}\n")
        try:
            tool.run("-upgradeSchema")
            _confirm(server, todo.target)
            tool.run("-info")
        except SchemaError as error:
            raise SchemaError(
                f"The upgrade from {todo.before} to {todo.target} failed. {error} {how_to_load(server, path, unfinished)}."
            ) from None
        unfinished.unlink()
    if todo.mutex_rows:
        add_mutex_rows(server, todo.mutex_rows)
    return path


def _confirm(server: Server, target: str) -> None:
    version = look(server).version
    if version != target:
        raise SchemaError(
            f"schematool ended well, but {server.place} has the version {version or '(none)'} instead of {target}: its "
            "configuration names another database."
        )
