"""The commands of an operator, against a database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml
from click.testing import CliRunner

from hopshive.cli import main
from hopshive.tenancy.login.backends.people import HASHER
from hopshive.tenancy.login.errors import Denied
from hopshive.tenancy.login.service import Asked
from tests.support.login_site import ALICE, PASSWORD

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.login_site import LoginSite


def run(site: LoginSite, *arguments: str) -> str:
    path = site.directory / "login.yml"
    path.write_text(yaml.safe_dump(site.content()))
    done = CliRunner().invoke(main, ["login", arguments[0], "--config", str(path), *arguments[1:]])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("arguments", [["rotate-keys"], ["revoke", "alice"]], ids=lambda one: str(one[0]))
def test_a_configuration_that_is_not_there_is_looked_for_where_it_is(tmp_path: Path, arguments: list[str]) -> None:
    done = CliRunner().invoke(main, ["login", *arguments, "--config", str(tmp_path / "none.yml")])
    assert done.exit_code == 1
    said = "none.yml cannot be read: No such file or directory. The hosts of the group login have this file"
    assert said in done.output


def test_a_hash_is_that_of_the_password() -> None:
    done = CliRunner().invoke(main, ["login", "hash-password"], input=f"{PASSWORD}\n")
    assert done.exit_code == 0
    assert HASHER.verify(done.output.strip(), PASSWORD)
    assert CliRunner().invoke(main, ["login", "hash-password"], input="\n").exit_code == 2


def test_keys_rotate_and_tokens_of_before_stay(site: LoginSite) -> None:
    token = site.run(lambda service: service.login(Asked(ALICE, PASSWORD))).token
    assert "signs in 60 s" in run(site, "rotate-keys")
    assert site.run(lambda service: service.login(Asked("", token))).user == "alice"
    assert "signs from now on" in run(site, "rotate-keys", "--forget")
    with pytest.raises(Denied):
        site.run(lambda service: service.login(Asked("", token)))


def test_an_operator_revokes(site: LoginSite) -> None:
    token = site.run(lambda service: service.login(Asked(ALICE, PASSWORD))).token
    run(site, "revoke", "alice")
    with pytest.raises(Denied):
        site.run(lambda service: service.login(Asked("", token)))
