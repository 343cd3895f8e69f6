"""The commands of docs/login.md, copied from it and run against a replica."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import yaml

from hopshive.tenancy.login import settings
from hopshive.tenancy.login.backends.people import HASHER
from tests.docs.page import ROOT, read
from tests.support.login_site import ALICE, PASSWORD, SEAL, LoginSite, Replica, person
from tests.support.patience import until
from tests.support.servers import wait_until, write_script

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = ROOT / "docs/login.md"
HOST = "login1.example.org"
ALL = [[command.text for command in block.commands] for block in read("docs/login.md") if not block.language]
# The block that asks Keycloak is run by tests/identity_provider.
BLOCKS = [block for block in ALL if not any("keycloak.example.org" in command for command in block)]


def commands_with(part: str) -> list[str]:
    """The commands of the block in which a command has that part."""
    (found,) = [block for block in BLOCKS if any(part in command for command in block)]
    return found


@pytest.fixture
def replica(login_site: LoginSite) -> Iterator[Replica]:
    login_site.write_people({ALICE: person(projects={"sales": "owner"})})
    login_site.more |= {"membership": "backend", "limits": {"refusal_seconds": 0}}
    # The page's host name leads to the replica; its launcher and sudo are stand-ins.
    pair = login_site.authority.issue("login1", HOST, "localhost")
    login_site.more["listen"] = {"certificate": str(pair.certificate), "key": str(pair.key)}
    with login_site.replica("one") as found:
        wait_until(found.healthy, "the replica", found.log)
        yield found


def shell(site: LoginSite, replica: Replica, commands: list[str], typed: str = "", host: str = "one") -> str:
    """What the commands print, in one shell on a host, with what a person types."""
    programs = site.directory / "bin"
    programs.mkdir(exist_ok=True)
    config = site.directory / f"{host}.yml"
    python = f"PYTHONPATH={ROOT / 'src'} {sys.executable} -m hopshive.cli login"
    (programs / "hopshive-login").write_text(
        f'#!/bin/sh\n[ "$1" = hash-password ] || set -- "$@" --config {config}\nexec env {python} "$@"\n'
    )
    (programs / "hopshive-login").chmod(0o755)
    write_script(programs / "sudo", ["env"])
    write_script(programs / "curl", ["/usr/bin/curl", "--connect-to", f"{HOST}:9443:localhost:{replica.port}"])
    script = "\n".join(commands).replace("/etc/ssl/site/authority.pem", str(site.authority.path))
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        input=typed,
        env={**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_each_block_is_run_here() -> None:
    parts = ("openssl", "curl", "hash-password", "rotate-keys", "revoke", "--forget")
    assert [block for block in BLOCKS if not any(part in command for part in parts for command in block)] == []
    assert len(BLOCKS) == len(parts)


def test_a_token_as_the_page_gets_it(login_site: LoginSite, replica: Replica) -> None:
    found = json.loads(shell(login_site, replica, commands_with("curl"), f"{PASSWORD}\n"))
    (shown,) = [line for line in PAGE.read_text().splitlines() if line.startswith('{"user"')]
    assert {**found, "token": "", "expires_in": 0} == {**json.loads(shown), "token": "", "expires_in": 0}
    assert 890 <= found["expires_in"] <= 900


def test_a_secret_is_long_enough(login_site: LoginSite, replica: Replica) -> None:
    assert len(shell(login_site, replica, commands_with("openssl")).strip()) >= settings.LEAST_SECRET


def test_a_person_as_the_page_adds_it(login_site: LoginSite, replica: Replica) -> None:
    hashed = shell(login_site, replica, commands_with("hash-password"), "another password\n").strip()
    assert HASHER.verify(hashed, "another password")
    example = yaml.safe_load(PAGE.read_text().rpartition("login_people:\n")[2].partition("```")[0])
    example[ALICE]["password"] = hashed
    login_site.write_people(example)
    until(lambda: replica.login(ALICE, "another password", database="sales").status == 200, 10)


def test_keys_and_revocations_as_the_page_has_them(login_site: LoginSite, replica: Replica) -> None:
    first = replica.login(ALICE, PASSWORD).json["token"]
    (rotate,) = [block for block in BLOCKS if block == ["sudo hopshive-login rotate-keys"]]
    assert "signs in 60 s" in shell(login_site, replica, rotate)
    until(lambda: len(replica.ask("GET", "/.well-known/jwks.json").json["keys"]) == 2, 10)
    assert replica.login("", first).status == 200
    shell(login_site, replica, commands_with("revoke"))
    assert replica.login("", first).status == 401
    assert replica.login(ALICE, PASSWORD).status == 200


def test_another_sealing_key_as_the_page_has_it(login_site: LoginSite, replica: Replica) -> None:
    """A replica that still has the former one lets no person in."""
    token = replica.login(ALICE, PASSWORD).json["token"]
    login_site.more["tokens"] = {"sealing_key_file": login_site.write("another", SEAL[::-1])}
    with login_site.replica("two") as refused:
        assert refused.process.wait(30) == 78
        assert "was not sealed with" in refused.log.read_text()
    shell(login_site, replica, commands_with("--forget"), host="two")
    until(lambda: replica.login("", token).status == 401, 15)
    assert replica.login(ALICE, PASSWORD).json["error"] == "unavailable"
    assert replica.ask("GET", "/healthz").status == 503
    with login_site.replica("three") as started:
        wait_until(started.healthy, "the replica", started.log)
        new = started.login(ALICE, PASSWORD).json["token"]
        assert started.login("", new).status == 200
        assert replica.login("", new).json["error"] == "unavailable"
