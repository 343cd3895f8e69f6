"""What the role firewall opens on each host of the inventories of this repository."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from hopshive.services.firewall.ports import PORTS, VARIABLES
from tests.support.firewall_site import rendered
from tests.support.servers import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULTS = yaml.safe_load((ROOT / "roles/cluster/defaults/main.yml").read_text())
INVENTORIES = ("lab", "lab_ha", "lab_tenancy", "prod")
NETWORKS = {
    "cluster_firewall_clients": ["192.0.2.0/24"],
    "cluster_firewall_monitoring": [],
    "cluster_firewall_ssh": ["0.0.0.0/0", "::/0"],
}


@pytest.fixture(scope="module", params=INVENTORIES)
def site(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, dict[str, Any]]:
    return rendered(ROOT / "inventories" / request.param, tmp_path_factory.mktemp(request.param), NETWORKS)


@cache
def port_variables() -> set[str]:
    """All ports of components that the role cluster knows."""
    return {name for name in DEFAULTS if name.endswith("_port")}


def test_every_port_variable_has_a_place_in_the_table() -> None:
    assert port_variables() == {name for name in VARIABLES if name.endswith("_port")}


def test_each_listening_port_is_open_to_the_cluster_and_nothing_else_is(site: Mapping[str, dict[str, Any]]) -> None:
    for host, found in site.items():
        placed = [port for port in PORTS if port.group in found["groups"]]
        used = {group for other in site.values() for group in other["groups"]}
        alone = {port.group for port in PORTS if sum(port.group in other["groups"] for other in site.values()) < 2}
        wanted = [
            found["ports"][port.variable]
            for port in placed
            if not (port.several and port.group in alone) and (not port.caller or port.caller in used)
        ]
        ports = {str(one) for value in wanted for one in (value if isinstance(value, list) else [value])}
        assert {one["ports"] for one in found["openings"] if one["source"] == "cluster"} == ports, host


def test_clients_reach_only_what_asks_for_a_login(site: Mapping[str, dict[str, Any]]) -> None:
    outside = {
        (one["source"], one["ports"])
        for found in site.values()
        for one in found["openings"]
        if one["source"] != "cluster"
    }
    with_login = {
        ("clients", str(DEFAULTS["cluster_login_port"])),
        ("monitoring", str(DEFAULTS["cluster_login_port"])),
        ("clients", str(DEFAULTS["cluster_gateway_port"])),
    }
    has_login = any("login" in found["groups"] for found in site.values())
    assert outside == {
        ("clients", str(DEFAULTS["cluster_server2_port"])),
        ("pages", str(DEFAULTS["cluster_server2_http_port"])),
        ("monitoring", str(DEFAULTS["cluster_cleaner_port"])),
        *(with_login if has_login else ()),
    }
    for found in site.values():
        assert found["networks"] == {
            "clients": ["192.0.2.0/24"],
            "pages": [],
            "monitoring": [],
            "ssh": ["0.0.0.0/0", "::/0"],
        }


def test_all_hosts_are_members(site: Mapping[str, dict[str, Any]]) -> None:
    for found in site.values():
        assert found["members"] == {host: [host] for host in site}


def test_a_host_is_a_member_by_all_its_addresses(tmp_path: Path) -> None:
    hosts = {
        "one": {"cluster_address": "10.0.0.1", "cluster_firewall_addresses": ["10.1.0.1", "fd00::1"]},
        "two": {"ansible_port": 2200},
    }
    inventory = tmp_path / "hosts.yml"
    inventory.write_text(yaml.safe_dump({"hopshive": {"children": {"metastore": {"hosts": hosts}}}}))
    (tmp_path / "out").mkdir()
    found = rendered(inventory, tmp_path / "out", {"cluster_firewall_pages": True})
    assert found["one"]["members"] == {"one": ["10.0.0.1", "10.1.0.1", "fd00::1"], "two": ["two"]}
    assert [one["ports"] for one in found["one"]["openings"]] == ["9083"]


def test_the_unit_loads_the_file_before_the_network_and_after_the_sites_own_rules(
    site: Mapping[str, dict[str, Any]],
) -> None:
    for found in site.values():
        unit = found["unit"].splitlines()
        assert "ExecStart=/usr/sbin/nft -f /etc/nftables.d/hopshive.nft" in unit
        assert "Before=network-pre.target shutdown.target" in unit
        assert {"After=nftables.service", "PartOf=nftables.service", "ReloadPropagatedFrom=nftables.service"} <= {*unit}
        assert "flush" not in found["unit"]


def test_purge_ends_the_unit_that_removes_the_table() -> None:
    assert "hopshive-firewall" in Path(ROOT / "src/hopshive/services/components.py").read_text()
    unit = yaml.safe_load((ROOT / "roles/firewall/vars/main.yml").read_text())["__firewall_unit"]
    assert 'ExecStop=/usr/sbin/nft "table inet hopshive {}; delete table inet hopshive"' in unit
