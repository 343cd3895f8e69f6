"""A gateway as its role configures it, on this machine: rendered by Ansible, run by Debian's nginx."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import ssl
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

from tests.support.login_site import GATEWAY
from tests.support.servers import ROOT, running, wait_until, write_script

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tests.support.authority import Pair

ROLE = ROOT / "roles/gateway"
TEMPLATES = ("nginx.conf", "refresh", "unit.service", "refresh.service", "refresh.timer", "refresh.path")
PLAY = """
- hosts: gateway
  gather_facts: false
  vars_files:
    - "ROLES/cluster/defaults/main.yml"
    - "ROLES/cluster/vars/main.yml"
    - "ROLES/gateway/defaults/main.yml"
    - "ROLES/gateway/vars/main.yml"
    - "DIRECTORY/variables.json"
  tasks:
    - ansible.builtin.copy: {dest: "DIRECTORY/secret.conf", content: "{{ __gateway_secret_text }}", mode: "0600"}
    - ansible.builtin.template: {src: "ROLES/gateway/templates/{{ item }}.j2", dest: "DIRECTORY/{{ item }}", mode: "0700"}
      loop: TEMPLATES
"""


def nginx() -> str | None:
    """The binary; None without one."""
    return shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")


def render(
    directory: Path,
    groups: Mapping[str, Sequence[str]],
    variables: Mapping[str, Any] | None = None,
    addresses: Mapping[str, str] | None = None,
) -> None:
    """Write the role's files into a directory, in one run of Ansible. `addresses`: of hosts that have another than their name."""
    directory.mkdir(parents=True, exist_ok=True)
    play = PLAY
    for name, text in {
        "ROLES": str(ROOT / "roles"),
        "DIRECTORY": str(directory),
        "TEMPLATES": json.dumps(TEMPLATES),
    }.items():
        play = play.replace(name, text)
    inventory = {
        "hopshive": {
            "children": {
                name: {"hosts": {host: {"cluster_address": (addresses or {}).get(host, host)} for host in hosts}}
                for name, hosts in groups.items()
            },
            "vars": {"ansible_connection": "local", "cluster_gateway_secret": GATEWAY},
        }
    }
    (directory / "play.yml").write_text(play)
    (directory / "hosts.yml").write_text(yaml.safe_dump(inventory))
    (directory / "variables.json").write_text(json.dumps(variables or {}))
    argv = ["ansible-playbook", "-i", str(directory / "hosts.yml"), str(directory / "play.yml")]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@dataclass(frozen=True)
class Reply:
    """What a client was answered. Names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """The body of an error of the gateway."""
        assert self.headers["content-type"] == "application/json", self
        return json.loads(self.body)


@dataclass(frozen=True)
class Gateway:
    """A gateway in a directory, with its port; `authority` signed its certificate."""

    directory: Path
    port: int
    authority: Path

    @property
    def log(self) -> Path:
        """What nginx reports."""
        return self.directory / "nginx.log"

    @property
    def access_log(self) -> Path:
        """A line a request."""
        return self.directory / "access.log"

    def connect(self, pair: Pair | None, **options: Any) -> http.client.HTTPSConnection:
        """A connection of a client; None has no certificate."""
        context = ssl.create_default_context(cafile=self.authority)
        if pair:
            context.load_cert_chain(pair.certificate, pair.key)
        for name, value in options.items():
            setattr(context, name, value)
        return http.client.HTTPSConnection("localhost", self.port, timeout=20, context=context)

    def post(
        self, pair: Pair | None, body: bytes = b"", path: str = "/cliservice", headers: Mapping[str, str] | None = None
    ) -> Reply:
        """A request on a connection of its own. Raises OSError."""
        connection = self.connect(pair)
        try:
            return ask(connection, body, path, headers)
        finally:
            connection.close()

    def refresh(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """As the timer does."""
        return subprocess.run(
            [str(self.directory / "refresh"), *arguments], capture_output=True, text=True, check=False
        )

    def workers(self) -> set[int]:
        """The processes below nginx's first."""
        pid = int((self.directory / "r/nginx.pid").read_text())
        return {int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()}


def ask(
    connection: http.client.HTTPSConnection,
    body: bytes = b"",
    path: str = "/cliservice",
    headers: Mapping[str, str] | None = None,
    method: str = "POST",
) -> Reply:
    """A request on a connection. Raises OSError."""
    connection.request(method, path, body, {"Content-Type": "application/x-thrift", **(headers or {})})
    response = connection.getresponse()
    return Reply(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())


@contextmanager
def run_gateway(
    directory: Path,
    port: int,
    groups: Mapping[str, Sequence[str]],
    authority: Path,
    variables: Mapping[str, Any],
    addresses: Mapping[str, str] | None = None,
) -> Iterator[Gateway]:
    """Render and start it. The directory's path is short: a socket's has 107 bytes at most."""
    binary = nginx()
    assert binary
    main = "daemon off; user root;" if os.geteuid() == 0 else "daemon off;"
    launcher = directory / "nginx"
    paths = {
        "__gateway_conf_dir": str(directory),
        "__gateway_run_dir": str(directory / "r"),
        "__gateway_access_log": str(directory / "access.log"),
        "__gateway_nginx": str(launcher),
        "cluster_gateway_port": port,
    }
    (directory / "r").mkdir(parents=True, mode=0o700)
    write_script(launcher, [binary, "-g", main])
    render(directory, {**groups, "gateway": ["gateway"]}, {**paths, **variables}, addresses)
    made = Gateway(directory, port, authority)
    started = made.refresh("start")
    assert started.returncode == 0, started.stderr
    with running([str(launcher), "-c", str(directory / "nginx.conf")], made.log, {}) as process:
        # The file is there, empty, since the configuration was tried.
        wait_until(lambda: (directory / "r/nginx.pid").stat().st_size > 0, "nginx", made.log)
        yield made
        process.terminate()
        process.wait(15)
