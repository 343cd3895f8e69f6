"""Two network namespaces with a cable between them: a host, and all others, each by an address of its own."""

from __future__ import annotations

import os
import shutil
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

HOST = "10.77.0.1"
MEMBER = "10.77.0.2"
CLIENT = "10.77.0.3"
MONITOR = "10.77.0.4"
STRANGER = "10.77.0.5"
CONTROLLER = "10.77.0.9"
HOST6 = "fd77::1"
MEMBER6 = "fd77::2"
STRANGER6 = "fd77::5"
_PEERS: tuple[str, ...] = (MEMBER, CLIENT, MONITOR, STRANGER, CONTROLLER)
_PEERS6 = (MEMBER6, STRANGER6)


def lacking() -> str:
    """What this machine lacks for namespaces with a firewall, as a sentence; empty if nothing."""
    if os.geteuid() != 0:
        return "Network namespaces want root: run the tests as root"
    absent = [name for name in ("ip", "nft") if not shutil.which(name)]
    return f"{' and '.join(absent)} not found: apt-get install iproute2 nftables" if absent else ""


@dataclass(frozen=True)
class Network:
    """The names of the two namespaces."""

    host: str
    peers: str

    def on_host(self, *command: str) -> list[str]:
        """A command that runs on the host."""
        return ["ip", "netns", "exec", self.host, *command]

    def on_peers(self, *command: str) -> list[str]:
        """A command that runs where all others are."""
        return ["ip", "netns", "exec", self.peers, *command]

    def nft(self, *arguments: str, text: str | None = None) -> str:
        """What the host's nft prints."""
        return run(*self.on_host("nft", *arguments), text=text)


def run(*command: str, text: str | None = None) -> str:
    """What a command prints; an error of the test if it fails."""
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(command)}: {done.stdout}{done.stderr}"
    return done.stdout


@contextmanager
def network(name: str) -> Iterator[Network]:
    """The two namespaces, until the end of the block. Nothing outside of them changes."""
    made = Network(f"{name}-{os.getpid()}-h", f"{name}-{os.getpid()}-p")
    try:
        run("ip", "netns", "add", made.host)
        run("ip", "netns", "add", made.peers)
        run("ip", "-n", made.host, "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", made.peers)
        for namespace, addresses in (made.host, [HOST]), (made.peers, [*_PEERS]):
            for address in addresses:
                run("ip", "-n", namespace, "address", "add", f"{address}/24", "dev", "eth0")
        for namespace, addresses in (made.host, [HOST6]), (made.peers, [*_PEERS6]):
            for address in addresses:
                run("ip", "-n", namespace, "address", "add", f"{address}/64", "dev", "eth0", "nodad")
        for namespace in (made.host, made.peers):
            run("ip", "-n", namespace, "link", "set", "lo", "up")
            run("ip", "-n", namespace, "link", "set", "eth0", "up")
        yield made
    finally:
        for namespace in (made.host, made.peers):
            subprocess.run(["ip", "netns", "delete", namespace], capture_output=True, check=False)
