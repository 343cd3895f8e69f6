"""The firewall's table of ports, and the rules that are made of it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from hopshive.services.components import COMPONENTS
from hopshive.services.firewall.host import guard_command, ssh_connection
from hopshive.services.firewall.names import resolve
from hopshive.services.firewall.ports import PORTS, VARIABLES, Opening, openings
from hopshive.services.firewall.rules import Connection, RuleError, Rules, network, port_range, render, version_of
from tests.support.port_scan import differences

if TYPE_CHECKING:
    from pathlib import Path

ANY = ["0.0.0.0/0", "::/0"]


def rules(**given: Any) -> str:
    return render(Rules(**{"members": {"one": ["10.0.0.1"]}, "networks": {"ssh": ANY}, "openings": (), **given}))


def chain(text: str, name: str) -> list[str]:
    """The lines of a chain; none if there is no such chain."""
    _, found, rest = text.partition(f"  chain {name} {{\n")
    return [line.strip() for line in rest.partition("\n  }")[0].splitlines()] if found else []


def test_every_port_belongs_to_a_component() -> None:
    assert {port.group for port in PORTS} <= set(COMPONENTS)


def test_each_host_opens_the_ports_of_its_components_alone() -> None:
    values = {name: number for number, name in enumerate(VARIABLES, 1000)}
    groups = {"metastore": ("a", "b"), "zookeeper": ("b",), "cleaner": ("a",)}
    opened = {(one.what, one.source) for one in openings(values, "a", groups)}
    assert opened == {
        ("metastore: cluster_metastore_port", "cluster"),
        ("cleaner: cluster_cleaner_port", "cluster"),
        ("cleaner: cluster_cleaner_port", "monitoring"),
    }
    # One ZooKeeper has no peers.
    assert [one.what for one in openings(values, "b", groups)] == [
        "zookeeper: cluster_zookeeper_client_port",
        "metastore: cluster_metastore_port",
    ]


def test_a_port_of_two_components_is_opened_once() -> None:
    values = {**dict.fromkeys(VARIABLES, 1000), "cluster_firewall_job_ports": ["32768-60999"]}
    groups = {"nodemanager": ("a",), "client": ("a",)}
    assert [one.ports for one in openings(values, "a", groups)] == ["1000", "32768-60999"]


def test_a_source_without_a_network_opens_nothing() -> None:
    text = rules(networks={"ssh": ANY, "clients": []}, openings=[Opening("10000", "clients", "server2")])
    assert "10000" not in text
    assert chain(text, "from_ssh") == ['tcp dport 22 accept comment "SSH"']


def test_the_end_of_the_chain_refuses() -> None:
    lines = chain(rules(), "input")
    assert lines[0] == "type filter hook input priority filter; policy drop;"
    assert lines[-2:] == ["meta l4proto tcp counter reject with tcp reset", "counter"]


def test_addresses_of_both_families_stand_with_their_host() -> None:
    text = rules(
        members={"one": ["10.0.0.1", "fd00::1"], "two": ["10.0.0.1"]}, openings=[Opening("9083", "cluster", "m")]
    )
    assert '10.0.0.1 comment "one, two",' in text
    assert 'fd00::1 comment "one",' in text


def test_the_order_of_hosts_does_not_matter() -> None:
    one, two = {"a": ["10.0.0.1"], "b": ["10.0.0.2"]}, {"b": ["10.0.0.2"], "a": ["10.0.0.1"]}
    assert rules(members=one) == rules(members=two)


def test_the_connection_of_the_run_is_let_in_only_where_no_network_has_it() -> None:
    inside = Connection("192.0.2.9", 22)
    assert "controller" not in rules(connection=inside)
    assert "controller" not in rules(networks={"ssh": ["192.0.2.0/24"]}, connection=inside)
    outside = rules(networks={"ssh": ["198.51.100.0/24"]}, connection=inside)
    assert chain(outside, "from_controller") == ['tcp dport 22 accept comment "the connection of Ansible"']
    assert "192.0.2.9/32" in outside


def test_the_port_that_ssh_really_has_counts() -> None:
    text = rules(ssh_ports=["2200"], connection=Connection("192.0.2.9", 22))
    assert chain(text, "from_ssh") == ['tcp dport 22 accept comment "SSH"']
    assert chain(rules(ssh_ports=["2200"]), "from_ssh") == ['tcp dport 2200 accept comment "SSH"']


def test_further_openings_have_sources_of_their_own() -> None:
    extra = [
        {"port": 9100, "from": ["192.0.2.0/24"], "what": "node exporter"},
        {"port": 161, "from": ["192.0.2.1"], "protocol": "udp"},
    ]
    text = rules(extra=extra)
    assert chain(text, "from_extra_1") == ['tcp dport 9100 accept comment "node exporter"']
    assert chain(text, "from_extra_2") == ['udp dport 161 accept comment "cluster_firewall_extra"']


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"networks": {"clients": ["10.0.0/8"]}}, "cluster_firewall_clients has '10.0.0/8'"),
        ({"extra": [{"port": 1}]}, "cluster_firewall_extra has {'port': 1}"),
        ({"extra": [{"port": 1, "from": ["10.0.0.1"], "prot": "tcp"}]}, "'prot': 'tcp'"),
        ({"extra": [{"port": 1, "from": ["10.0.0.1"], "protocol": "icmp"}]}, "the protocol 'icmp'"),
        ({"extra": [{"port": 70000, "from": ["10.0.0.1"]}]}, "has '70000', which is neither a port"),
        ({"openings": [Opening("90-83", "cluster", "cluster_x_port")]}, "cluster_x_port has '90-83'"),
    ],
)
def test_a_value_of_which_no_rule_can_be_made_is_named(given: dict[str, Any], said: str) -> None:
    with pytest.raises(RuleError, match="has") as raised:
        rules(**given)
    assert said in str(raised.value)


def test_text_of_the_inventory_cannot_end_a_rule() -> None:
    extra = [{"port": 1, "from": ["10.0.0.1"], "what": 'a" accept; } # \n flush ruleset'}]
    (line,) = chain(rules(extra=extra), "from_extra_1")
    assert line.count('"') == 2
    assert line.endswith('"')


def test_the_version_tells_rules_apart_and_not_headings() -> None:
    assert version_of(rules()) == version_of(rules(heading="Written by someone"))
    assert version_of(rules()) != version_of(rules(members={"one": ["10.0.0.2"]}))
    assert version_of("table inet hopshive {}") == ""


def test_networks_and_ports_are_read_strictly() -> None:
    assert str(network("192.0.2.7/24", "x")) == "192.0.2.0/24"
    assert [port_range(text, "x") for text in ("1", "65535", "4040-4056")] == ["1", "65535", "4040-4056"]
    for wrong in ("0", "65536", "-1", "1-", "a", "", "1,2"):
        with pytest.raises(RuleError):
            port_range(wrong, "x")


def test_a_name_without_an_address_is_an_error_that_names_all() -> None:
    with pytest.raises(RuleError, match=r"no-such\.invalid of two, neither\.invalid of three"):
        resolve({"one": ["10.0.0.1"], "two": ["no-such.invalid"], "three": ["neither.invalid"]})
    assert resolve({"one": ["10.0.0.1", "fd00::1", "10.0.0.1"]}) == {"one": ["10.0.0.1", "fd00::1"]}


def test_the_guard_is_a_timer_that_outlives_ansible(tmp_path: Path) -> None:
    command = guard_command(tmp_path / "former.nft", 30)
    assert command[0] == "systemd-run"
    assert "--on-active=30s" in command
    assert command[-3:] == ["nft", "-f", str(tmp_path / "former.nft")]


def test_the_ssh_connection_is_found_above_sudo(tmp_path: Path) -> None:
    for pid, parent, environ in (
        (30, 20, b"A=1\0"),
        (20, 10, b"SSH_CONNECTION=::ffff:192.0.2.9 5 10.0.0.1 22\0"),
        (10, 1, b""),
    ):
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "environ").write_bytes(environ)
        (tmp_path / str(pid) / "status").write_text(f"Name:\tx\nPPid:\t{parent}\n")
    assert ssh_connection(30, tmp_path) == Connection("192.0.2.9", 22)
    assert ssh_connection(10, tmp_path) is None
    assert ssh_connection(os.getpid(), tmp_path) is None


def test_a_scan_is_compared_with_what_is_opened_to_its_source() -> None:
    opened = {"a": [Opening("1", "cluster", "x"), Opening("5-9", "cluster", "jobs"), Opening("2", "clients", "y")]}
    assert differences({"a": {1, 6}}, opened, ["cluster"]) == []
    assert differences({"a": {2}}, opened, ["cluster"]) == [
        "a: port 2 is open, and the inventory does not open it",
        "a: port 1 is closed, and the inventory opens it",
    ]
