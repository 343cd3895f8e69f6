"""Each port of each host, as another machine sees it: open ones are in the inventory, and no TLS is weak."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from hopshive.services.firewall.ports import CLIENTS, CLUSTER, MONITORING, PAGES, Opening
from tests.support.firewall_site import rendered
from tests.support.port_scan import differences, scan
from tests.support.servers import ROOT
from tests.support.tls_scan import Port, Spoken

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.warehouse.hosts import Lab
    from tests.warehouse.people import PeopleLab

# The page of HiveServer2 shows the statements of all, so it listens on the host's own address alone.
LOCAL = "cluster_server2_http_port"
PAGE = (ROOT / "docs/security.md").read_text()
# Rows of the page's table of ports with TLS: variable and versions.
DOCUMENTED = {
    variable: versions.split(", ")
    for variable, versions in re.findall(r"^\|[^|]*\| `(cluster_\w+_port)`[^|]*\| ([^|]*) \|$", PAGE, re.MULTILINE)
}


@pytest.fixture(scope="module")
def lab(people: PeopleLab) -> Lab:
    return people.lab


@pytest.fixture(scope="module")
def opened(lab: Lab) -> dict[str, set[int]]:
    return {name: scan(host.address) for name, host in lab.hosts.items()}


@pytest.fixture(scope="module")
def openings(lab: Lab, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Opening]]:
    found = rendered(lab.inventory.parent, tmp_path_factory.mktemp("openings"))
    return {host: [Opening(**one) for one in values["openings"]] for host, values in found.items()}


@pytest.fixture(scope="module")
def spoken(
    lab: Lab, opened: Mapping[str, set[int]], openings: Mapping[str, list[Opening]]
) -> dict[tuple[str, str], Spoken]:
    """By host and variable: what an open port of a component speaks."""
    return {
        (host, one.what.rpartition(" ")[2]): Port(lab.hosts[host].address, int(one.ports)).spoken()
        for host, listed in openings.items()
        for one in listed
        if one.source == CLUSTER and one.ports.isdigit() and int(one.ports) in opened[host]
    }


def test_open_ports_are_those_that_the_inventory_names(
    lab: Lab, opened: Mapping[str, set[int]], openings: Mapping[str, list[Opening]]
) -> None:
    (page,) = {one.ports for listed in openings.values() for one in listed if one.what.endswith(LOCAL)}
    said = differences(opened, openings, (CLUSTER, CLIENTS, MONITORING, PAGES))
    assert sorted(said) == sorted(
        f"{host.name}: port {page} is closed, and the inventory opens it" for host in lab.group("server2")
    )


def test_ports_with_tls_are_those_of_the_page(spoken: Mapping[tuple[str, str], Spoken]) -> None:
    by_variable: dict[str, set[str]] = {}
    for (_, variable), found in spoken.items():
        by_variable.setdefault(variable, set()).update(found.words())
    with_tls = {variable: sorted(versions) for variable, versions in by_variable.items() if versions}
    assert with_tls == DOCUMENTED


def test_no_old_version_and_no_weak_suite_is_accepted(spoken: Mapping[tuple[str, str], Spoken]) -> None:
    assert {place: found.faults() for place, found in spoken.items() if found.faults()} == {}


def test_the_page_has_all_suites(spoken: Mapping[tuple[str, str], Spoken]) -> None:
    found = {suite for one in spoken.values() for suites in one.words().values() for suite in suites}
    assert found <= set(re.findall(r"`((?:TLS_|ECDHE-)[\w-]+)`", PAGE))
