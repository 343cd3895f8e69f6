"""No secret of people, services and authorities is where others could read it, on any host and on the controller."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import secrets_scan
from tests.support.secrets_scan import Secret
from tests.warehouse.people import PeopleLab

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[3]
LOG = ROOT / "build/molecule-tenancy.log"
NEEDED = {"alice", "carol_totp", "login_sealing_key", "login_db_password", "server2_check_password", "gateway_secret"}


@pytest.fixture(name="secrets", scope="module")
def secrets_of_the_lab(host: Any) -> list[Secret]:
    """All that was made at random for this lab, and a line of each key."""
    state = PeopleLab.find(host.ansible.get_variables()["lab_label"]).state
    files = [*(state / "secrets").iterdir(), state / "tls/store_password"]
    secrets = [Secret(path.name, path.read_text().strip()) for path in files]
    secrets += [_middle(path) for path in state.rglob("*.key")]
    assert {secret.name for secret in secrets} >= NEEDED
    assert [secret.name for secret in secrets if len(secret.value) < 12] == []
    return secrets


def _middle(key: Path) -> Secret:
    """A line of a key in PEM that no other key has."""
    lines = key.read_text().splitlines()
    return Secret(str(key), lines[len(lines) // 2])


@pytest.mark.parametrize("command", secrets_scan.OF_HOSTS)
def test_no_secret_is_in_the_open_on_the_host(
    host: Any, secrets: list[Secret], command: Callable[[Secret], str]
) -> None:
    assert secrets_scan.found_on(host, secrets, command) == {}


def test_no_secret_is_in_the_controllers_logs(secrets: list[Secret]) -> None:
    # molecule.yml writes all that the scenario showed there, differences of files too.
    assert LOG.exists(), "no log: run the scenario by make molecule"
    shown = LOG.read_text()
    # Not asserted directly: pytest would show the log, and with it what must not be shown.
    whole = "Write the configuration of metastore" in shown and "+++ after" in shown
    assert whole, f"{LOG} does not show a converge with the differences of its files"
    found = {secret.name: [str(path) for path in secrets_scan.logs(secret, ROOT / "build")] for secret in secrets}
    assert {name: places for name, places in found.items() if places} == {}
