"""A warehouse is open to everyone only where its inventory says so."""

from __future__ import annotations

from typing import Any

import pytest

from hopshive.install.preflight.exposure import check_exposure
from hopshive.install.preflight.inventory import HostVariables, Inventory

OPEN = {"server2_authentication": "none", "cluster_tls": "none", "cluster_without": []}
CLOSED = {"server2_authentication": "login", "cluster_tls": "bundle", "cluster_without": []}


def found(given: dict[str, Any], edge: dict[str, Any] | None = None) -> list[tuple[str, bool]]:
    """Text and whether it is a warning, for a master without HiveServer2 and an edge host with one."""
    hosts = {"master": HostVariables(given), "edge": HostVariables({**given, **(edge or {})})}
    groups = {"server2": ("edge",), "hopshive": ("master", "edge")}
    return [(problem.text, problem.warning) for problem in check_exposure(Inventory(groups, ("server2",), hosts))]


def test_an_open_warehouse_is_refused_and_told_how_to_close_it_or_keep_it_open() -> None:
    (login, _), (tls, _) = found(OPEN)
    assert login.startswith("server2_authentication is none, so HiveServer2 believes every name without a password")
    assert "set it to login (docs/tenancy.md)" in login
    assert "cluster_without: [login] in inventories/prod/group_vars/all/" in login
    assert tls.startswith("cluster_tls is none, so passwords and rows go over the network in the clear (for all hosts)")
    assert "set it to bundle or site (docs/tls.md)" in tls
    assert "cluster_without: [tls] in inventories/prod/group_vars/all/" in tls


def test_an_inventory_of_a_release_that_had_neither_is_refused_as_well() -> None:
    assert [text.split()[0] for text, _ in found({})] == ["server2_authentication", "cluster_tls"]


def test_a_closed_warehouse_and_one_that_is_open_on_purpose_pass() -> None:
    assert found(CLOSED) == []
    assert found({**OPEN, "cluster_without": ["login", "tls"]}) == []


@pytest.mark.parametrize(
    ("given", "variable"),
    [
        ({**OPEN, "cluster_without": ["tls"]}, "server2_authentication"),
        ({**OPEN, "cluster_without": ["login"]}, "cluster_tls"),
    ],
)
def test_each_half_is_decided_by_itself(given: dict[str, Any], variable: str) -> None:
    ((text, warning),) = found(given)
    assert text.startswith(variable)
    assert not warning


def test_one_server_of_several_that_is_open_is_named() -> None:
    ((text, _),) = found(CLOSED, {"server2_authentication": "none"})
    assert "(for all hosts)" in text or "(for host edge)" in text


@pytest.mark.parametrize(("kind", "refused"), [("LDAP", False), ("NONE", True), ("NOSASL", True), ("", True)])
def test_a_login_that_the_site_has_of_its_own_counts(kind: str, refused: bool) -> None:
    site = {"server2_hive_site_extra": {"hive.server2.authentication": kind}}
    assert bool(found({**CLOSED, "server2_authentication": "none", **site})) is refused


@pytest.mark.parametrize("part", ["login", "tls"])
def test_a_permission_that_is_left_over_is_a_warning(part: str) -> None:
    ((text, warning),) = found({**CLOSED, "cluster_without": [part]})
    assert warning
    assert text.startswith(f"cluster_without names {part}, which is switched on")
