"""No secret of the inventory is where others than its owners could read it, on any host and on the controller."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support import secrets_scan
from tests.support.secrets_scan import Secret

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[3]


@pytest.fixture(name="secrets", scope="module")
def secrets_of_the_inventory(host: Any) -> list[Secret]:
    """Every variable of the host that is a password, as the roles get it."""
    names = [name for name in host.ansible.get_variables() if name.endswith("_password")]
    # Its value in the inventory is a template; Ansible makes the password of it.
    secrets = [
        Secret(name, str(host.ansible("ansible.builtin.debug", f"var={name}", check=False)[name])) for name in names
    ]
    assert [secret.name for secret in secrets if len(secret.value) < 12 or "{{" in secret.value] == []
    assert {"cluster_metastore_database_password", "cluster_cleaner_db_password"} <= set(names)
    return secrets


@pytest.mark.parametrize("command", secrets_scan.OF_HOSTS)
def test_no_password_is_in_the_open_on_the_host(
    host: Any, secrets: list[Secret], command: Callable[[Secret], str]
) -> None:
    assert secrets_scan.found_on(host, secrets, command) == {}


def test_no_password_is_in_the_controllers_logs(secrets: list[Secret]) -> None:
    # molecule.yml writes all that the scenario showed there, differences of files too.
    log = ROOT / "build/molecule-default.log"
    assert log.exists(), "no log: run the scenario by make molecule"
    shown = log.read_text()
    # Not asserted directly: pytest would show the log, and with it what must not be shown.
    whole = "Write the configuration of metastore" in shown and "+++ after" in shown
    assert whole, f"{log} does not show a converge with the differences of its files"
    found = {secret.name: [str(path) for path in secrets_scan.logs(secret, ROOT / "build")] for secret in secrets}
    assert {name: places for name, places in found.items() if places} == {}
