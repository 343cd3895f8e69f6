"""Firewall rules on real packets, and on trial over a real SSH connection, between two network namespaces."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hopshive.services.firewall.ports import Opening
from hopshive.services.firewall.rules import Rules, render
from tests.support import network as net
from tests.support.patience import within
from tests.support.port_scan import differences
from tests.support.servers import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

SSH_PORT = 2222
HIDING = f"""
table ip proxy {{
  chain input {{
    type nat hook input priority 100;
    tcp dport {SSH_PORT} snat to 10.77.0.99
  }}
}}
"""
UNKNOWN_HOST = "-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
OPENINGS = [
    Opening("9083", "cluster", "metastore"),
    Opening("9853", "cluster", "cleaner"),
    Opening("9853", "monitoring", "cleaner"),
    Opening("10000", "cluster", "server2"),
    Opening("10000", "clients", "server2"),
    Opening("40000-40009", "cluster", "jobs"),
]
NETWORKS = {"clients": [f"{net.CLIENT}/32"], "monitoring": [net.MONITOR], "ssh": [net.CONTROLLER]}
MEMBERS = {"one": [net.HOST, net.HOST6], "two": [net.MEMBER, net.MEMBER6]}
# Besides those of the table: a service of the site that the inventory does not know.
LISTENING = (SSH_PORT, 9083, 9853, 10000, 40003, 5000)
# Listens on all ports, on both families, and sends back what it gets.
ECHO = """
import socketserver, sys, threading, socket
class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        while data := self.request.recv(100):
            self.request.sendall(data)
class Server(socketserver.ThreadingTCPServer):
    address_family = socket.AF_INET6
    allow_reuse_address = daemon_threads = True
    request_queue_size = 100
servers = [Server(("::", int(port)), Echo) for port in sys.argv[1:]]
for server in servers:
    threading.Thread(target=server.serve_forever, daemon=True).start()
print("ready", flush=True)
threading.Event().wait()
"""
# Sends a line, waits for a line, sends another.
TALK = """
import socket, sys
talk = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=5, source_address=(sys.argv[3], 0))
for _ in range(2):
    talk.sendall(b"x")
    print(talk.recv(1).decode(), flush=True)
    sys.stdin.readline()
"""


@pytest.fixture(scope="module")
def cable() -> Iterator[net.Network]:
    if reason := net.lacking():
        pytest.skip(reason)
    with net.network("fw") as made:
        yield made


@pytest.fixture
def echo(cable: net.Network) -> Iterator[None]:
    with process(*cable.on_host(sys.executable, "-c", ECHO, *map(str, LISTENING))) as server:
        assert server.stdout
        assert server.stdout.readline() == "ready\n"
        yield
    cable.nft("flush", "ruleset")


@contextmanager
def process(*command: str) -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        try:
            yield running
        finally:
            running.kill()


def seen(cable: net.Network, source: str, host: str = net.HOST) -> set[int]:
    """All open ports of the host, as seen from an address."""
    return scan_of(cable, source, host, ())


def scan_of(cable: net.Network, source: str, host: str, ports: Iterable[int]) -> set[int]:
    """Those of the ports that are open."""
    named = [option for port in ports for option in ("--port", str(port))]
    command = cable.on_peers(sys.executable, "-m", "tests.support.port_scan", "--source", source, *named, host)
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout)[host])


def rules(**changed: Any) -> str:
    given = {"members": MEMBERS, "networks": NETWORKS, "openings": OPENINGS, "ssh_ports": [str(SSH_PORT)]}
    return render(Rules(**{**given, **changed}))


@pytest.mark.usefixtures("echo")
@pytest.mark.parametrize(
    ("source", "host", "opened"),
    [
        (net.MEMBER, net.HOST, {9083, 9853, 10000, 40003}),
        (net.CLIENT, net.HOST, {10000}),
        (net.MONITOR, net.HOST, {9853}),
        (net.CONTROLLER, net.HOST, {SSH_PORT}),
        (net.STRANGER, net.HOST, set()),
        (net.MEMBER6, net.HOST6, {9083, 9853, 10000, 40003}),
        (net.STRANGER6, net.HOST6, set()),
    ],
)
def test_of_all_ports_an_address_reaches_those_that_are_open_to_it(
    cable: net.Network, source: str, host: str, opened: set[int]
) -> None:
    assert scan_of(cable, source, host, LISTENING) == set(LISTENING), "without rules everything answers"
    cable.nft("-f", "-", text=rules())
    assert seen(cable, source, host) == opened


@pytest.mark.usefixtures("echo")
def test_a_scan_finds_what_the_inventory_does_not_name(cable: net.Network) -> None:
    openings = {net.HOST: OPENINGS}
    assert f"{net.HOST}: port 5000 is open, and the inventory does not open it" in differences(
        {net.HOST: seen(cable, net.MEMBER)}, openings, ["cluster"]
    )
    cable.nft("-f", "-", text=rules())
    assert differences({net.HOST: seen(cable, net.MEMBER)}, openings, ["cluster"]) == []
    assert differences({net.HOST: seen(cable, net.STRANGER)}, openings, []) == []


@pytest.mark.usefixtures("echo")
def test_an_open_connection_survives_rules_that_refuse_it(cable: net.Network) -> None:
    talk = cable.on_peers(sys.executable, "-c", TALK, net.HOST, "5000", net.STRANGER)
    with process(*talk) as client:
        assert client.stdout
        assert client.stdin
        assert client.stdout.readline() == "x\n"
        cable.nft("-f", "-", text=rules())
        assert scan_of(cable, net.STRANGER, net.HOST, [5000]) == set()
        client.stdin.write("\n")
        client.stdin.flush()
        assert client.stdout.readline() == "x\n"


@pytest.mark.usefixtures("echo")
def test_a_host_that_left_is_refused_and_other_tables_stay(cable: net.Network) -> None:
    cable.nft("add", "table", "ip", "site")
    cable.nft("-f", "-", text=rules())
    cable.nft("-f", "-", text=rules(members={"one": [net.HOST]}))
    assert seen(cable, net.MEMBER) == set()
    assert "table ip site" in cable.nft("list", "tables")


@pytest.mark.wall_time
@pytest.mark.usefixtures("echo")
def test_a_refused_connection_fails_at_once_and_ping_answers(cable: net.Network) -> None:
    cable.nft("-f", "-", text=rules())
    connect = "import socket,sys; socket.create_connection((sys.argv[1], 9083), 60, (sys.argv[2], 0))"
    with within(5):
        done = subprocess.run(
            cable.on_peers(sys.executable, "-c", connect, net.HOST, net.STRANGER),
            capture_output=True,
            text=True,
            check=False,
        )
    assert "ConnectionRefusedError" in done.stderr


@pytest.fixture
def site(cable: net.Network, tmp_path: Path) -> Iterator[Site]:
    if not shutil.which("sshd"):
        pytest.skip("sshd not found: apt-get install openssh-server")
    Path("/run/sshd").mkdir(exist_ok=True)
    with Site(cable, tmp_path).serving() as serving:
        yield serving
    cable.nft("flush", "ruleset")


class Site:
    """A host with sshd, and Ansible where all others are."""

    def __init__(self, cable: net.Network, directory: Path) -> None:
        self.cable = cable
        self.directory = directory
        self.file = directory / "etc/hopshive.nft"
        self.said = ""
        # Connections that Ansible keeps open belong to one life of sshd.
        self.lives = 0

    @contextmanager
    def serving(self) -> Iterator[Site]:
        for name in ("host", "user"):
            net.run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.directory / name))
        (self.directory / "keys").write_text((self.directory / "user.pub").read_text())
        (self.directory / "sshd_config").write_text(
            f"Port {SSH_PORT}\nListenAddress {net.HOST}\nHostKey {self.directory}/host\nPidFile {self.directory}/sshd.pid\n"
            f"AuthorizedKeysFile {self.directory}/keys\nStrictModes no\nUsePAM no\nPermitRootLogin yes\n"
        )
        with process(*self.cable.on_host(sys.executable, "-c", ECHO, "9083")):
            try:
                self.start()
                yield self
            finally:
                self.stop()

    def hide_the_controller(self) -> None:
        """Let sshd see another address than the firewall, as behind a proxy on the host. New connections count."""
        self.stop()
        self.cable.nft("-f", "-", text=HIDING)
        self.start()

    def start(self) -> None:
        self.lives += 1
        net.run(*self.cable.on_host(shutil.which("sshd") or "sshd", "-f", str(self.directory / "sshd_config")))
        until = time.monotonic() + 10
        while not (self.directory / "sshd.pid").is_file():
            assert time.monotonic() < until
            time.sleep(0.05)

    def stop(self) -> None:
        pid = self.directory / "sshd.pid"
        if pid.is_file():
            os.kill(int(pid.read_text()), 15)
            while pid.is_file():
                time.sleep(0.05)

    def play(self, *options: str, **changed: Any) -> tuple[int, dict[str, Any]]:
        """The exit code of a run of Ansible, and the result of its task."""
        arguments: Mapping[str, Any] = {
            "members": MEMBERS,
            "networks": NETWORKS,
            "openings": [vars(one) for one in OPENINGS],
            "path": str(self.file),
            "runtime": str(self.directory / "run"),
            "rollback": 6,
            **changed,
        }
        variables = {
            "ansible_host": net.HOST,
            "ansible_port": SSH_PORT,
            "ansible_user": "root",
            "ansible_ssh_private_key_file": str(self.directory / "user"),
            "ansible_ssh_common_args": f"-o BindAddress={net.CONTROLLER} {UNKNOWN_HOST}",
            "ansible_control_path_dir": str(self.directory / f"cp{self.lives}"),
            "ansible_python_interpreter": sys.executable,
        }
        play = [{"hosts": "all", "gather_facts": False, "tasks": [{"name": "Load", "hopshive_firewall": arguments}]}]
        (self.directory / "play.json").write_text(json.dumps(play))
        (self.directory / "hosts.json").write_text(json.dumps({"all": {"hosts": {"one": variables}}}))
        command = [
            "ansible-playbook",
            "-i",
            str(self.directory / "hosts.json"),
            str(self.directory / "play.json"),
            *options,
        ]
        environment = {**os.environ, "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json", "ANSIBLE_TIMEOUT": "5"}
        done = subprocess.run(
            self.cable.on_peers(*command), cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        self.said = done.stdout + done.stderr
        result = json.loads(done.stdout[done.stdout.index("{") :])["plays"][0]["tasks"][0]["hosts"]["one"]
        return done.returncode, result

    def tables(self) -> str:
        return self.cable.nft("list", "tables")


def test_rules_that_let_ansible_back_in_are_kept_and_the_next_run_changes_nothing(site: Site) -> None:
    assert site.play("--check", "--diff")[1]["changed"]
    assert "tcp dport 9083 accept" in site.said
    assert site.tables() == ""
    assert not site.file.exists()
    code, result = site.play()
    assert (code, result["changed"], result["trial"]) == (0, True, False), site.said
    assert "tcp dport 9083 accept" in site.file.read_text()
    assert site.tables() == "table inet hopshive\n"
    assert site.play()[1]["changed"] is False
    time.sleep(7)
    assert site.tables() == "table inet hopshive\n", "the guard of a trial that is over does nothing"
    assert site.play("--check", state="absent")[1]["changed"]
    assert site.play(state="absent")[1]["changed"]
    assert (site.tables(), site.file.exists()) == ("", False)
    assert site.play(state="absent")[1]["changed"] is False


def test_the_connection_of_ansible_is_let_in_though_no_network_names_it(site: Site) -> None:
    code, _ = site.play(networks={"ssh": []})
    assert code == 0, site.said
    assert seen(site.cable, net.CONTROLLER) == {SSH_PORT}
    assert seen(site.cable, net.STRANGER) == set()


@pytest.mark.wall_time
def test_rules_that_lock_ansible_out_are_taken_back_by_the_host(site: Site) -> None:
    good, _ = site.play()
    kept = site.file.read_text()
    site.hide_the_controller()
    with within(30):
        code, result = site.play(networks={"ssh": []})
    assert (good, code) == (0, 2), site.said
    assert "The new firewall rules of one keep Ansible itself out" in result["msg"]
    assert "The host has its former rules again" in result["msg"]
    assert site.file.read_text() == kept
    assert seen(site.cable, net.CONTROLLER) == {SSH_PORT}
    assert seen(site.cable, net.MEMBER) == {9083}


def test_a_host_without_rules_is_open_again_after_a_lock_out(site: Site) -> None:
    site.hide_the_controller()
    code, result = site.play(networks={"ssh": []})
    assert code == 2
    assert "The host has its former rules again" in result["msg"]
    assert not site.file.exists()
    assert "policy drop" not in site.cable.nft("list", "ruleset")
    assert SSH_PORT in seen(site.cable, net.STRANGER)


def test_what_nft_refuses_is_told_and_changes_nothing(site: Site) -> None:
    code, result = site.play(openings=[{"ports": "90-83", "source": "cluster", "what": "cluster_metastore_port"}])
    assert code == 2
    assert result["msg"] == (
        "cluster_metastore_port has '90-83', which is neither a port nor a range such as 4040-4055"
    )
    code, result = site.play(members={"one": ["no-such-host.invalid"]})
    assert code == 2
    assert "cannot resolve no-such-host.invalid of one" in result["msg"]
    assert site.tables() == ""
