"""Hadoop credential stores: a record that spares the JVM, and the real `hadoop credential` on a pseudo-terminal."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from hopshive.install.credential import Shell, ensure
from hopshive.install.credential_store import (
    Attributes,
    Record,
    Store,
    read_record,
)
from tests.support.modules import run_module
from tests.support.servers import QUICK, hadoop_classpath, require_java_compiler, write_script, write_site

ALIAS = "javax.jdo.option.ConnectionPassword"
SECRET = "s3 cr'\"$`\\é!"
MAIN = "org.apache.hadoop.security.alias.CredentialShell"


# --- the real one -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def launcher(hadoop_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`hadoop credential`, which notes each of its starts."""
    directory = tmp_path_factory.mktemp("credential")
    write_site(directory / "conf/core-site.xml", {})
    classpath = ":".join([str(directory / "conf"), *hadoop_classpath(hadoop_home)])
    java = write_script(directory / "java", ["java", *QUICK, "-cp", classpath, MAIN])
    counting = directory / "hadoop-credential"
    counting.write_text(
        f'#!/bin/sh\ntr "\\0" " " < /proc/$$/cmdline >> {directory}/starts\nenv >> {directory}/starts\n'
        f'echo "# $1" >> {directory}/starts\nexec {java} "$@"\n'
    )
    counting.chmod(0o755)
    return counting


def starts(launcher: Path) -> list[str]:
    """Which subcommands were run since the last time; fails if a secret was in sight."""
    path = launcher.parent / "starts"
    text = path.read_text() if path.exists() else ""
    path.unlink(missing_ok=True)
    assert SECRET not in text
    return [line[2:] for line in text.splitlines() if line.startswith("# ")]


def test_an_alias_is_set_changed_and_removed(launcher: Path, tmp_path: Path) -> None:
    path = tmp_path / "store.jceks"
    store = Store(f"localjceks://file{path}")
    starts(launcher)

    def run(state: str = "present", secret: str | None = SECRET, *, check: bool = False) -> dict[str, Any]:
        given = {"provider": store.provider, "alias": ALIAS, "secret": secret, "state": state, "mode": "0640"}
        result = run_module("hopshive_credential", {**given, "command": [str(launcher)]}, check=check)
        assert not result.get("failed"), result
        return result

    assert run(check=True)["changed"]
    assert list(tmp_path.iterdir()) == []
    made = run()
    assert made["diff"]["before"] == {}
    assert made["diff"]["after"].items() >= {ALIAS: "set", "mode": "0640"}.items()
    assert not run()["changed"]
    assert starts(launcher) == ["create"], "the second run needs no JVM"
    assert path.stat().st_mode & 0o777 == 0o640
    assert store.record_path.stat().st_mode & 0o777 == 0o600
    assert SECRET.encode() not in path.read_bytes() + store.record_path.read_bytes()

    assert run(secret="another", check=True)["changed"]
    assert starts(launcher) == []
    assert run(secret="another")["changed"]
    assert starts(launcher) == ["delete", "create"]
    assert not Shell([str(launcher)]).holds(store.provider, ALIAS, SECRET)

    assert run("absent", None)["changed"]
    assert not run("absent", None)["changed"]
    assert {entry.name for entry in tmp_path.iterdir()} == {"store.jceks", ".store.jceks.hopshive"}


def test_the_checksum_beside_a_store_moves_with_it(launcher: Path, tmp_path: Path) -> None:
    """Of `jceks://file`, Hadoop's checksummed file system refuses a store whose .crc is another's."""
    store = Store(f"jceks://file{tmp_path}/store.jceks")
    shell = Shell([str(launcher)])
    assert ensure(store, shell, ALIAS, SECRET, Attributes(mode=0o640)).changed
    assert ensure(store, shell, ALIAS, "another", Attributes(mode=0o640)).changed
    assert shell.holds(store.provider, ALIAS, "another")
    names = {entry.name: entry.stat().st_mode & 0o777 for entry in tmp_path.iterdir()}
    assert names == {"store.jceks": 0o640, ".store.jceks.crc": 0o640, ".store.jceks.hopshive": 0o600}


def test_a_store_that_another_program_changed_is_asked(launcher: Path, tmp_path: Path) -> None:
    store = Store(f"localjceks://file{tmp_path}/store.jceks")
    shell = Shell([str(launcher)])
    shell.create(store.provider, ALIAS, SECRET)
    store.path.chmod(0o600)
    starts(launcher)
    assert not ensure(store, shell, ALIAS, SECRET, Attributes(mode=0o600), dry=True).changed
    assert not store.record_path.exists()
    assert not ensure(store, shell, ALIAS, SECRET, Attributes(mode=0o600)).changed
    assert read_record(store).holds(ALIAS, SECRET)
    starts(launcher)
    assert not ensure(store, shell, ALIAS, SECRET, Attributes(mode=0o600)).changed
    assert starts(launcher) == [], "now there is a record"
    shell.create(store.provider, "other", "x")
    assert read_record(store) == Record()
    assert ensure(store, shell, ALIAS, SECRET, Attributes(mode=0o640)).attributes
    assert shell.aliases(store.provider) == {ALIAS.lower(), "other"}


def test_hadoop_itself_reads_the_secret(launcher: Path, hadoop_home: Path, tmp_path: Path) -> None:
    """By Configuration.getPassword, as Hive does; the secret has what a shell or an encoding could break."""
    require_java_compiler()
    store = Store(f"localjceks://file{tmp_path}/store.jceks")
    ensure(store, Shell([str(launcher)]), ALIAS, SECRET, Attributes(mode=0o600))
    source = tmp_path / "Read.java"
    source.write_text(
        "import org.apache.hadoop.conf.Configuration; class Read { public static void main(String[] a) throws Exception {"
        'Configuration c = new Configuration(false); c.set("hadoop.security.credential.provider.path", a[0]);'
        'for (char x : c.getPassword(a[1])) System.out.print((int) x + " "); } }'
    )
    classpath = ":".join(hadoop_classpath(hadoop_home))
    argv = ["java", *QUICK, "-cp", classpath, str(source), store.provider, ALIAS]
    read = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert "".join(chr(int(code)) for code in read.stdout.split()) == SECRET


def test_the_record_has_the_form_that_is_documented(tmp_path: Path) -> None:
    store = Store(f"localjceks://file{tmp_path}/store.jceks")
    store.path.write_bytes(b"store")
    store.record_path.write_text(json.dumps({"store": "0" * 64, "aliases": {}}))
    assert read_record(store) == Record(), "of another store"
    store.record_path.write_text("[]")
    assert read_record(store) == Record(), "not a record"
