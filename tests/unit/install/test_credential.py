"""Credential stores without a JVM: records, attributes, and a command that fails or hangs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hopshive.install.credential import Shell, ensure
from hopshive.install.credential_store import (
    Attributes,
    CredentialError,
    Record,
    Store,
    differing,
)
from tests.support.modules import run_module
from tests.support.patience import within

SECRET = "s3 cr'\"$`\\é!"


def test_a_store_is_a_local_file() -> None:
    assert Store("localjceks://file/etc/a.jceks").path == Path("/etc/a.jceks")
    assert Store("jceks://file/etc/a.jceks").at(Path("/etc/b.jceks")) == "jceks://file/etc/b.jceks"
    for provider in ("jceks://hdfs/user/a.jceks", "/etc/a.jceks", "user:///"):
        with pytest.raises(CredentialError, match="is no local file"):
            _ = Store(provider).path


def test_a_record_knows_a_secret_by_a_salted_digest() -> None:
    record = Record()
    record.remember("a", SECRET)
    record.remember("b", SECRET)
    assert record.holds("a", SECRET)
    assert not record.holds("a", SECRET + " ")
    assert not record.holds("c", SECRET)
    assert record.aliases["a"]["digest"] != record.aliases["b"]["digest"]


def test_attributes_that_are_not_wanted_do_not_count() -> None:
    there = Attributes("hive", "hive", 0o640)
    assert not differing(Attributes(), there)
    assert not differing(Attributes(owner="hive", mode=0o640), there)
    assert differing(Attributes(mode=0o600), there)


def fake(tmp_path: Path, body: str) -> Shell:
    """Something in the place of `hadoop credential`."""
    script = tmp_path / "fake"
    script.write_text(f"#!/bin/sh\n{body}\n")
    script.chmod(0o755)
    return Shell([str(script)], timeout=5)


def test_a_failure_shows_what_was_said_but_not_the_secret(tmp_path: Path) -> None:
    shell = fake(tmp_path, 'printf "Enter alias password: "; read -r x; echo; echo "no room for $x"; exit 3')
    with pytest.raises(CredentialError) as caught:
        ensure(Store(f"localjceks://file{tmp_path}/a.jceks"), shell, "a", "hunter2", Attributes())
    assert str(caught.value) == "hadoop credential create a failed (3): Enter alias password: | no room for ********"
    assert list(tmp_path.iterdir()) == [tmp_path / "fake"]


@pytest.mark.wall_time
def test_a_tool_that_hangs_is_ended(tmp_path: Path) -> None:
    shell = Shell(fake(tmp_path, "sleep 60 & sleep 60").command, timeout=0.2)
    with within(5), pytest.raises(CredentialError, match="did not end within"):
        ensure(Store(f"localjceks://file{tmp_path}/a.jceks"), shell, "a", "x", Attributes())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"secret": ""}, "empty or has a control character"),
        ({"secret": "two\nlines"}, "empty or has a control character"),
        ({"mode": "0644"}, "is not one for secrets"),
        ({"mode": "rw"}, "is not one for secrets"),
        ({"provider": "jceks://hdfs/x"}, "is no local file"),
        (
            {"provider": "localjceks://file/nowhere/x.jceks"},
            "/nowhere, the directory of the credential store, is not there",
        ),
        (
            {"command": ["/nowhere/hadoop"]},
            "/nowhere/hadoop cannot be run: No such file or directory. Install Hadoop first.",
        ),
    ],
)
def test_what_cannot_be_is_told(tmp_path: Path, arguments: dict[str, Any], sentence: str) -> None:
    given = {"provider": f"localjceks://file{tmp_path}/a.jceks", "alias": "a", "secret": "x", **arguments}
    result = run_module("hopshive_credential", given)
    assert result["failed"]
    assert sentence in result["msg"]
