"""The module hopshive_authenticator, on configuration directories that hopshive did not write."""

from __future__ import annotations

import json
import stat
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from hopshive.tenancy.site_file import read
from tests.support.modules import run_module

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

HIVE_SITE = """<?xml version="1.0"?>
<!-- Ours. -->
<configuration>
  <property><name>hive.server2.authentication</name><value>NONE</value></property>
</configuration>
"""
SERVER2_SITE = """<configuration>
  <!-- Why: see the wiki. -->
  <property>
    <name>hive.server2.enable.doAs</name>
    <value>false</value>
  </property>
  <property><name>hive.server2.thrift.port</name><value>10010</value></property>
</configuration>
"""


class Health(BaseHTTPRequestHandler):
    """Answers as a login service that is well."""

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/healthz" else 404)
        self.end_headers()

    def log_message(self, *_arguments: Any) -> None:
        pass


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Health)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    conf = tmp_path / "conf"
    conf.mkdir()
    (conf / "hive-site.xml").write_text(HIVE_SITE)
    (conf / "hiveserver2-site.xml").write_text(SERVER2_SITE)
    return conf


def run(conf: Path, *urls: str, check: bool = False, **arguments: Any) -> dict[str, Any]:
    arguments = {"configuration": str(conf), **({"urls": list(urls)} if urls else {}), **arguments}
    return run_module("hopshive_authenticator", arguments, check=check)


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def value(conf: Path, name: str) -> str | None:
    return read((conf / "hiveserver2-site.xml").read_bytes(), "").value(name)


def test_a_registration_edits_only_what_it_needs(conf: Path, url: str) -> None:
    result = run(conf, url)
    assert result["changed"]
    assert "hive.server2.enable.doAs" in result["properties"]
    assert value(conf, "hive.server2.authentication") == "CUSTOM"
    assert value(conf, "hive.server2.enable.doAs") == "true"
    assert value(conf, "hopshive.login.urls") == url
    text = (conf / "hiveserver2-site.xml").read_text()
    assert "<!-- Why: see the wiki. -->" in text
    assert value(conf, "hive.server2.thrift.port") == "10010"
    assert (conf / "hive-site.xml").read_text() == HIVE_SITE
    before = contents(conf)
    assert not run(conf, url)["changed"]
    assert contents(conf) == before


def test_an_unregistration_gives_every_byte_back(conf: Path, url: str) -> None:
    before = contents(conf)
    run(conf, url)
    # What is no longer wanted goes back to what it was before.
    run(conf, url, as_project_user=False, recheck=5)
    assert value(conf, "hive.session.impl.withugi.classname") is None
    assert value(conf, "hive.session.impl.classname") == "hopshive.login.ServiceSession"
    assert run(conf, state="absent")["changed"]
    assert contents(conf) == before
    assert not run(conf, state="absent")["changed"]


def test_a_file_that_was_not_there_goes_again(conf: Path, url: str) -> None:
    (conf / "hiveserver2-site.xml").unlink()
    before = contents(conf)
    run(conf, url)
    run(conf, state="absent")
    assert contents(conf) == before


def test_what_someone_changed_since_stays_with_a_warning(conf: Path, url: str) -> None:
    run(conf, url)
    path = conf / "hiveserver2-site.xml"
    path.write_text(path.read_text().replace("CUSTOM", "LDAP"))
    result = run(conf, state="absent")
    assert value(conf, "hive.server2.authentication") == "LDAP"
    assert value(conf, "hive.server2.enable.doAs") == "false"
    assert f"{path}: hive.server2.authentication was changed since the registration" in str(result["warnings"])


def test_check_mode_foretells_and_writes_nothing(conf: Path, url: str) -> None:
    before = contents(conf)
    foretold = run(conf, url, check=True)
    assert contents(conf) == before
    done = run(conf, url)
    assert (foretold["changed"], foretold["diff"]) == (True, done["diff"])
    shown = done["diff"]["after"][str(conf / "hiveserver2-site.xml")]
    assert done["diff"]["before"][str(conf / "hiveserver2-site.xml")]["hive.server2.enable.doAs"] == "false"
    assert shown["hive.server2.custom.authentication.class"] == "hopshive.login.LoginAuthenticator"
    with_absent = run(conf, state="absent", check=True)
    assert with_absent["changed"]
    assert value(conf, "hive.server2.authentication") == "CUSTOM"


def test_the_jar_is_copied_replaced_and_taken_away(conf: Path, url: str, tmp_path: Path) -> None:
    jar, library = tmp_path / "login.jar", tmp_path / "lib"
    library.mkdir()
    jar.write_bytes(b"one")
    assert run(conf, url, jar=str(jar), library=str(library))["changed"]
    assert not run(conf, url, jar=str(jar), library=str(library))["changed"]
    jar.write_bytes(b"two")
    assert run(conf, url, jar=str(jar), library=str(library))["changed"]
    assert (library / "hopshive-login.jar").read_bytes() == b"two"
    run(conf, state="absent")
    assert list(library.iterdir()) == []


def test_proxy_user_rules_stand_in_the_core_site_of_hadoop(conf: Path, url: str, tmp_path: Path) -> None:
    hadoop = tmp_path / "hadoop"
    hadoop.mkdir()
    (hadoop / "core-site.xml").write_text(HIVE_SITE)
    arguments: dict[str, Any] = {"hadoop_configuration": str(hadoop), "proxy_user": "hs2"}
    result = run(conf, url, proxy_hosts=["one", "two"], **arguments)
    assert result["proxy_rules"]
    site = read((hadoop / "core-site.xml").read_bytes(), "")
    assert site.value("hadoop.proxyuser.hs2.hosts") == "one,two"
    assert site.value("hadoop.proxyuser.hs2.groups") == "*"
    more = run(conf, url, proxy_hosts=["one", "two", "three"], **arguments)
    assert (more["proxy_rules"], more["properties"]) == (True, [])
    run(conf, state="absent")
    assert (hadoop / "core-site.xml").read_text() == HIVE_SITE


def test_owner_and_mode_stay_and_the_record_is_private(conf: Path, url: str) -> None:
    (conf / "hiveserver2-site.xml").chmod(0o640)
    run(conf, url)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in conf.iterdir()}
    assert modes["hiveserver2-site.xml"] == 0o640
    assert modes[".hopshive-authenticator.json"] == 0o600
    assert set(modes) == {"hive-site.xml", "hiveserver2-site.xml", ".hopshive-authenticator.json"}


def test_one_replica_that_answers_is_enough_with_a_warning(conf: Path, url: str) -> None:
    result = run(conf, "http://127.0.0.1:1", url)
    assert result["changed"]
    assert "http://127.0.0.1:1: " in str(result["warnings"])


@pytest.mark.parametrize(
    ("prepare", "arguments", "message"),
    [
        (None, {"urls": ["http://127.0.0.1:1"]}, "No login service answers. Nothing was changed. http://127.0.0.1:1: "),
        (None, {"urls": []}, "urls is empty"),
        (None, {"urls": ["login.example.org"]}, "urls: login.example.org is no URL"),
        (None, {"authority": "/none.pem"}, "authority: /none.pem cannot be read"),
        (None, {"jar": "/none.jar", "library": "/none"}, "jar: /none.jar is not on this host"),
        (None, {"jar": "/none.jar"}, "parameters are required together: jar, library"),
        (None, {"configuration": "/none"}, "/none is not a directory on this host"),
        ("hive-site.xml", {}, "hive-site.xml is missing"),
        (("hive-site.xml", "<a/>"), {}, "hive-site.xml is not a Hadoop configuration file: its root is <a>"),
        (("hive-site.xml", HIVE_SITE.replace("</value>", "</value><final>true</final>")), {}, "as final"),
        ((".hopshive-authenticator.json", "{"), {}, "the record of what was there before the registration, is damaged"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(
    conf: Path, url: str, prepare: Any, arguments: dict[str, Any], message: str
) -> None:
    match prepare:
        case str():
            (conf / prepare).unlink()
        case (name, text):
            (conf / name).write_text(text)
    before = contents(conf)
    result = run(conf, **{"urls": [url], **arguments})
    assert result.get("failed")
    assert message in result["msg"]
    assert contents(conf) == before


def test_an_interrupted_registration_can_be_repeated_and_undone(
    conf: Path, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hopshive.tenancy import authenticator

    before = contents(conf)
    write = authenticator._write
    written: list[Path] = []

    def failing(path: Path, content: bytes) -> None:
        if written:
            raise OSError(28, "No space left on device")
        written.append(path)
        write(path, content)

    monkeypatch.setattr(authenticator, "_write", failing)
    result = run(conf, url)
    assert f"{conf / 'hiveserver2-site.xml'} could not be written: No space left on device" in result["msg"]
    monkeypatch.undo()
    assert json.loads((conf / ".hopshive-authenticator.json").read_bytes())
    run(conf, url)
    assert value(conf, "hive.server2.authentication") == "CUSTOM"
    run(conf, state="absent")
    assert contents(conf) == before
