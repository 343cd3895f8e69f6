"""The commands of an operator, against a database."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import yaml
from click.testing import CliRunner

from hopshive.cli import main
from hopshive.tenancy.login.errors import Denied
from hopshive.tenancy.login.service import Asked
from tests.support.login_site import ALICE, PASSWORD

if TYPE_CHECKING:
    from tests.support.login_site import LoginSite


def run(site: LoginSite, *arguments: str) -> str:
    path = site.directory / "login.yml"
    path.write_text(yaml.safe_dump(site.content()))
    done = CliRunner().invoke(main, ["login", arguments[0], "--config", str(path), *arguments[1:]])
    assert done.exit_code == 0, done.output
    return done.output


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
