"""The rules of one host, as a file for nft: a table of its own, which replaces itself and leaves all other tables alone."""

from __future__ import annotations

import hashlib
import ipaddress
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hopshive.services.firewall.ports import CLUSTER, Opening

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

TABLE = "inet hopshive"
# In one transaction with what follows: at no moment are there no rules, and the first time there is a table to delete.
REPLACE = f"table {TABLE} {{}}\ndelete table {TABLE}\n"
SSH = "ssh"
# Ansible's own connection, if no network of SSH has it.
CONTROLLER = "controller"
# nft cuts a longer comment off.
_COMMENT = 100
_PORTS = re.compile(r"(\d+)(?:-(\d+))?")


class RuleError(Exception):
    """A value from which no rule can be made; the message names it."""


@dataclass(frozen=True)
class Connection:
    """The SSH connection of the run: the address that it comes from, and the port of the host that it came to."""

    address: str
    port: int


@dataclass(frozen=True)
class Rules:
    """What one host lets in. All else is refused.

    `members`: the addresses of each host of the inventory. `networks`: those of each source but `cluster`.
    `ssh_ports`: where the host's SSH listens, as far as the inventory knows.
    """

    members: Mapping[str, Sequence[str]]
    networks: Mapping[str, Sequence[str]]
    openings: Sequence[Opening]
    ssh_ports: Sequence[str] = ("22",)
    connection: Connection | None = None
    heading: str = ""
    extra: Sequence[Mapping[str, object]] = field(default_factory=tuple)


def network(text: str, where: str) -> Network:
    """A network or an address. Raises RuleError with `where`, the variable that has it."""
    try:
        return ipaddress.ip_network(text.strip(), strict=False)
    except ValueError:
        raise RuleError(
            f"{where} has {text!r}, which is neither an address nor a network such as 192.0.2.0/24"
        ) from None


def port_range(text: str, where: str) -> str:
    """A port or a range of ports as nft has it. Raises RuleError with `where`, the variable that has it."""
    found = _PORTS.fullmatch(text.strip())
    numbers = [int(number) for number in found.groups() if number] if found else []
    if not numbers or not all(0 < number < 65536 for number in numbers) or numbers != sorted(numbers):
        raise RuleError(f"{where} has {text!r}, which is neither a port nor a range such as 4040-4055")
    return "-".join(str(number) for number in numbers)


def render(rules: Rules) -> str:
    """The file for nft. Its chain `version_...` carries a digest of all else, so that a host can say what it has loaded."""
    networks, openings = _with_extra(rules)
    openings += _of_ssh(rules, networks)
    # A source without a network opens nothing.
    openings = [one for one in openings if one.source == CLUSTER or networks.get(one.source)]
    body = "\n".join([*_members(rules.members), *_sets(networks, openings), *_input(openings)])
    head = f"# {rules.heading}\n" if rules.heading else ""
    version = hashlib.sha256(body.encode()).hexdigest()[:16]
    return f"{head}{REPLACE}table {TABLE} {{\n{body}\n\n  chain version_{version} {{\n  }}\n}}\n"


def version_of(text: str) -> str:
    """The digest in a file, or in what nft lists; empty if there is none."""
    found = re.search(r"chain version_([0-9a-f]{16})\b", text)
    return found[1] if found else ""


def _with_extra(rules: Rules) -> tuple[dict[str, list[Network]], list[Opening]]:
    """The networks by source, and the openings, with those of cluster_firewall_extra as sources of their own."""
    networks = {
        source: [network(str(one), f"cluster_firewall_{source}") for one in given]
        for source, given in rules.networks.items()
    }
    openings = [Opening(port_range(one.ports, one.what), one.source, one.what, one.protocol) for one in rules.openings]
    where = "cluster_firewall_extra"
    for number, one in enumerate(rules.extra, 1):
        unknown = {*one} - {"port", "from", "protocol", "what"}
        given = one.get("from")
        if unknown or "port" not in one or not isinstance(given, list) or not given:
            raise RuleError(f"{where} has {dict(one)}: each entry is a port, a list `from` of networks, and optionally"
                            " protocol (tcp or udp) and what")  # fmt: skip
        protocol = str(one.get("protocol", "tcp"))
        if protocol not in {"tcp", "udp"}:
            raise RuleError(f"{where} has the protocol {protocol!r}, which is neither tcp nor udp")
        source = f"extra_{number}"
        networks[source] = [network(str(each), where) for each in given]
        what = str(one.get("what", where))
        openings.append(Opening(port_range(str(one["port"]), where), source, what, protocol))
    return networks, openings


def _of_ssh(rules: Rules, networks: dict[str, list[Network]]) -> list[Opening]:
    """SSH for its networks; and for the connection of the run, if these do not have it."""
    ports = [port_range(str(port), "ansible_port") for port in rules.ssh_ports]
    openings = []
    if rules.connection:
        now = str(rules.connection.port)
        # The port that the inventory names may be that of a router before the host.
        ports = [now]
        if not any(_contains(one, rules.connection.address) for one in networks.get(SSH, [])):
            networks[CONTROLLER] = [network(rules.connection.address, "SSH_CONNECTION")]
            openings.append(Opening(now, CONTROLLER, "the connection of Ansible"))
    return openings + [Opening(port, SSH, "SSH") for port in ports]


def _contains(one: Network, address: str) -> bool:
    found = ipaddress.ip_address(address.partition("%")[0])
    return found in one


def _members(members: Mapping[str, Sequence[str]]) -> Iterable[str]:
    """The sets with the addresses of the inventory's hosts, each with the host's name beside it."""
    names: dict[Network, list[str]] = {}
    for host, addresses in members.items():
        for address in addresses:
            names.setdefault(network(address, f"{host}'s cluster_address"), []).append(host)
    for family in (4, 6):
        elements = [
            f"{one.network_address if one.num_addresses == 1 else one} comment {_quoted(', '.join(dict.fromkeys(hosts)))}"
            for one, hosts in sorted(names.items(), key=lambda item: (item[0].version, item[0].network_address.packed))
            if one.version == family
        ]
        yield from _set(CLUSTER, family, elements)


def _sets(networks: Mapping[str, Sequence[Network]], openings: Sequence[Opening]) -> Iterable[str]:
    for source in _sources(openings):
        if source == CLUSTER:
            continue
        for family in (4, 6):
            own = [one for one in networks.get(source, ()) if one.version == family]
            elements = [str(one) for one in ipaddress.collapse_addresses(own)]  # type: ignore[type-var]
            yield from _set(source, family, elements)


def _set(source: str, family: int, elements: Sequence[str]) -> Iterable[str]:
    kind = "ipv4_addr" if family == 4 else "ipv6_addr"
    yield f"  set {source}_v{family} {{"
    yield f"    type {kind}"
    yield "    flags interval"
    if elements:
        yield "    elements = {"
        yield from (f"      {element}," for element in elements)
        yield "    }"
    yield "  }"


def _sources(openings: Sequence[Opening]) -> list[str]:
    return sorted({one.source for one in openings})


def _input(openings: Sequence[Opening]) -> Iterable[str]:
    """The chains: one for each source, and the one that sends a packet there by its address."""
    for source in _sources(openings):
        yield f"  chain from_{source} {{"
        for one in openings:
            if one.source == source:
                yield f"    {one.protocol} dport {one.ports} accept comment {_quoted(one.what)}"
        yield "  }"
    yield "  chain input {"
    yield "    type filter hook input priority filter; policy drop;"
    yield '    iif "lo" accept'
    # Only a SYN without an ACK opens a connection. Connections that were open before the rules survive, tracked or not.
    yield "    meta l4proto tcp tcp flags & (syn | ack) != syn accept"
    yield "    ct state established,related accept"
    yield "    meta l4proto { icmp, ipv6-icmp } accept"
    yield "    udp sport 67 udp dport 68 accept"
    yield "    ip6 saddr fe80::/10 udp sport 547 udp dport 546 accept"
    for source in _sources(openings):
        yield f"    ip saddr @{source}_v4 jump from_{source}"
        yield f"    ip6 saddr @{source}_v6 jump from_{source}"
    yield '    limit rate 6/minute log prefix "hopshive refuses: "'
    # An answer instead of silence: who has the wrong address or port learns it at once.
    yield "    meta l4proto tcp counter reject with tcp reset"
    yield "    counter"
    yield "  }"


def _quoted(text: str) -> str:
    """A comment for nft, which has no escapes."""
    return '"' + re.sub(r"[^ -!#-\[\]-~]", " ", text)[:_COMMENT] + '"'
